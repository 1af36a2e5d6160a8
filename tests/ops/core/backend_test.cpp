#include "troupe/ops/core/backend.hpp"

#include <algorithm>
#include <vector>

#include "troupe/ops/core/tensor.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/support.hpp"

namespace troupe::ops_test {

namespace {

const Device kCpu{};

/// The numbers 0 .. n-1.
Tensor counting(std::int64_t n) {
  Tensor tensor(Shape{n}, DType::int32);
  std::int32_t number = 0;
  for (auto& element : tensor.mutable_data<std::int32_t>()) element = number++;
  return tensor;
}

}  // namespace

TEST_CASE("work on a CPU stream is complete when launching returns", "[backend]") {
  const auto stream = backend_of(kCpu).make_stream({DeviceType::cpu, 3});
  CHECK(to_string(stream->device()) == "cpu:3");
  const auto from = counting(5);
  const Tensor to(Shape{5}, DType::int32);
  copy(*stream, from, to);
  CHECK(std::ranges::equal(to.data<std::int32_t>(), from.data<std::int32_t>()));
  stream->zero(to.address(), 8);
  CHECK(to.data<std::int32_t>()[1] == 0);
  CHECK(to.data<std::int32_t>()[2] == 2);
  const auto event = stream->record();
  CHECK(event.done());
  CHECK(event.error() == nullptr);
  bool called = false;
  event.notify([&] { called = true; });
  CHECK(called);
  stream->wait(event);
  event.wait();
}

TEST_CASE("tensors of different sizes or dtypes are not copied", "[backend]") {
  const auto stream = backend_of(kCpu).make_stream(kCpu);
  const auto from = counting(4);
  for (const auto& to : {Tensor(Shape{5}, DType::int32), Tensor(Shape{4}, DType::float32)})
    CHECK(
        contains(error_of([&] { copy(*stream, from, to); }), "int32[4] on cpu:0 cannot be copied to " + to_string(to)));
}

TEST_CASE("a device that does not exist is an error that names it", "[backend]") {
  const auto text = error_of([] {
    (void)backend_of(Device{DeviceType::cuda, 99}).make_stream({DeviceType::cuda, 99});
  });
  const bool built = has_backend(DeviceType::cuda);
  CHECK(contains(text, built ? "[device] there is no cuda:99" : "[device] this build has no backend for cuda:99"));
  if (!built) CHECK(contains(error_of([] { backend_of(DeviceType::cuda); }), "no backend for cuda"));
  CHECK(contains(error_of([] { Tensor({1}, DType::float32, {DeviceType::cpu, -1}); }), "there is no cpu:-1"));
}

TEST_CASE("a stream that cannot capture refuses to begin", "[backend]") {
  const auto stream = backend_of(kCpu).make_stream(kCpu);
  CHECK_FALSE(stream->can_capture());
  CHECK(contains(error_of([&] { stream->begin_capture(); }), "[stream] work on cpu:0 cannot be captured"));
  CHECK(contains(error_of([&] { stream->end_capture(); }), "cannot be captured"));
}

TEST_CASE("a device type has one backend", "[backend]") {
  CHECK(contains(error_of([] { register_backend(DeviceType::cpu, nullptr); }), "no backend was given for cpu"));
  class Second final : public Backend {
    bool host_accessible() const override { return true; }
    int device_count() const override { return 1; }
    std::shared_ptr<std::byte> allocate(Device, std::size_t) override { return nullptr; }
    std::shared_ptr<std::byte> allocate_pinned(std::size_t) override { return nullptr; }
    std::unique_ptr<Stream> make_stream(Device) override { return nullptr; }
    void synchronize(Device) override {}
    KernelTable& kernels() override { return backend_of(kCpu).kernels(); }
  };
  CHECK(contains(error_of([] { register_backend(DeviceType::cpu, std::make_unique<Second>()); }), "cpu has a backend"));
  CHECK(backend_of(kCpu).allocate(kCpu, 4) != nullptr);
}

}  // namespace troupe::ops_test
