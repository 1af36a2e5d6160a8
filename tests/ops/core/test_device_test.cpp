#include "troupe/tests/test_device/test_device.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>

#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/core/tensor.hpp"
#include "troupe/ops/graph/hash.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/graph/program.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/softmax.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/ops/support.hpp"

namespace troupe::ops_test {

namespace {

using testing::HeldTestDevices;
using testing::test_device;

std::unique_ptr<Stream> new_stream(int device = 0) {
  return backend_of(test_device(device)).make_stream(test_device(device));
}

Tensor numbers(float first) {
  return Tensor::from<float>({3}, std::vector<float>{first, first + 1.0F, first + 2.0F});
}

float first_of(const Tensor& tensor) {
  return tensor.copy_to_host().data<float>()[0];
}

}  // namespace

TEST_CASE("a tensor in device memory refuses access by the host", "[test device]") {
  const Tensor tensor({3}, DType::float32, test_device());
  const std::string expected = "[tensor] float32[3] on test:0 is not in host memory; copy it with copy_to_host()";
  CHECK(error_of([&] { (void)tensor.raw(); }) == expected);
  CHECK(error_of([&] { (void)tensor.mutable_raw(); }) == expected);
  CHECK(error_of([&] { (void)tensor.data<float>(); }) == expected);
  CHECK(error_of([&] { (void)tensor.mutable_data<float>(); }) == expected);
  CHECK(
      contains(error_of([&] { (void)tensor.view({1}).item<float>(); }), "float32[1] on test:0 is not in host memory"));
  CHECK_FALSE(tensor.host_accessible());
  CHECK(tensor.bytes() == 12);
}

TEST_CASE("the host cannot read the address of a tensor in device memory", "[test device]") {
  const Tensor tensor({3}, DType::float32, test_device());
  const auto ends_of_child = [&](const std::byte* address) {
    const auto child = fork();
    if (child == 0) {
      std::signal(SIGSEGV, SIG_DFL);
      const auto byte = *static_cast<const volatile std::byte*>(address);
      _exit(byte == std::byte{0} ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
  };
  CHECK(ends_of_child(tensor.address()) == SIGSEGV);
  CHECK(ends_of_child(Tensor({1}, DType::float32).address()) == 0);
}

TEST_CASE("tensors move to a device and back", "[test device]") {
  const auto host = numbers(4.0F);
  const auto moved = host.to(test_device(2));
  CHECK(to_string(moved) == "float32[3] on test:2");
  CHECK(std::ranges::equal(moved.copy_to_host().data<float>(), host.data<float>()));
  CHECK(first_of(moved.clone()) == 4.0F);
  CHECK(first_of(moved.view({2}, 4)) == 5.0F);
  CHECK(first_of(moved.to(test_device(1))) == 4.0F);
  CHECK(first_of(Tensor({3}, DType::float32, test_device())) == 0.0F);
  CHECK(contains(error_of([&] { host.to({DeviceType::test, 99}); }), "there is no test:99"));
}

TEST_CASE("work runs after it was launched, and events report when it is done", "[test device]") {
  const auto stream = new_stream();
  const auto host = numbers(1.0F);
  const Tensor tensor({3}, DType::float32, test_device());
  std::atomic<int> calls = 0;
  Event event;
  {
    const HeldTestDevices held(1);
    copy(*stream, host, tensor);
    event = stream->record();
    event.notify([&] { ++calls; });
    CHECK_FALSE(event.done());
    CHECK_FALSE(event.wait_for(std::chrono::milliseconds(1)));
    CHECK(calls == 0);
  }
  event.wait();
  CHECK(event.done());
  CHECK(first_of(tensor) == 1.0F);
  event.notify([&] { ++calls; });
  CHECK(testing::eventually([&] { return calls == 2; }));
}

namespace {

/// The number that a second stream reads after the first one was launched to write 7.
float read_by_second_stream(std::uint64_t seed, bool waits) {
  const auto first = new_stream(), second = new_stream();
  const auto host = numbers(7.0F);
  const Tensor written({3}, DType::float32, test_device()), read({3}, DType::float32, test_device());
  {
    const HeldTestDevices held(seed);
    copy(*first, host, written);
    if (waits) second->wait(first->record());
    copy(*second, written, read);
  }
  return first_of(read);
}

}  // namespace

TEST_CASE("a stream that does not wait for another's event reads the wrong values sooner or later", "[test device]") {
  int wrong = 0;
  for (std::uint64_t seed = 0; seed < 32; ++seed) {
    CHECK(read_by_second_stream(seed, true) == 7.0F);
    const auto read = read_by_second_stream(seed, false);
    wrong += read == 7.0F ? 0 : 1;
    CHECK(read_by_second_stream(seed, false) == read);
  }
  CHECK(wrong > 0);
  CHECK(wrong < 32);
}

TEST_CASE("a stream may wait for an event that is recorded on another device", "[test device]") {
  const auto first = new_stream(0), second = new_stream(1);
  const auto host = numbers(3.0F);
  const Tensor here({3}, DType::float32, test_device(0)), there({3}, DType::float32, test_device(1));
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const HeldTestDevices held(seed);
    first->zero(here.address(), here.bytes());
    copy(*first, host, here);
    second->wait(first->record());
    copy(*second, here, there);
    first->wait(second->record());
    first->zero(here.address(), here.bytes());
  }
  CHECK(first_of(there) == 3.0F);
  CHECK(first_of(here) == 0.0F);
}

TEST_CASE("memory is not used again before the work that reads it is done", "[test device]") {
  using testing::test_device_bytes_in_use;
  const auto stream = new_stream();
  const auto before = test_device_bytes_in_use();
  auto source = numbers(5.0F).to(test_device());
  const Tensor target({3}, DType::float32, test_device());
  {
    const HeldTestDevices held(1);
    copy(*stream, source, target);
    const auto* old = source.address();
    source = Tensor();
    const Tensor next({3}, DType::float32, test_device());
    CHECK(next.address() != old);
  }
  CHECK(first_of(target) == 5.0F);
  CHECK(test_device_bytes_in_use() == before + 64);
}

TEST_CASE("a failure is reported by later events, and later work is skipped", "[test device]") {
  GraphBuilder builder;
  const auto x = builder.input("x", {kBatch, 3});
  const auto loss = softmax_cross_entropy(x, builder.input("t", {kBatch}, DType::int32)).loss;
  builder.output("y", scale(loss, 2.0));
  Program program(std::move(builder).build(), 1, test_device());
  program.bind("x", Tensor({1, 3}, DType::float32, test_device()));
  program.bind("t", Tensor::from<std::int32_t>({1}, std::vector<std::int32_t>{3}).to(test_device()));
  CHECK(error_of([&] { program.run(); }).starts_with("[softmax_cross_entropy] label 3"));
  CHECK(first_of(program.output("y")) == 0.0F);
}

TEST_CASE("an error passes from stream to stream with the event", "[test device]") {
  const OpCall call{&kSoftmaxCrossEntropy,
                    {},
                    {{{1, 3}, DType::float32}, {{1}, DType::int32}},
                    {{{1}, DType::float32}, {{1, 3}, DType::float32}}};
  const auto kernel = make_kernel(call, test_device());
  const auto failing = new_stream(), dependent = new_stream(), other = new_stream();
  const std::vector inputs{Tensor({1, 3}, DType::float32, test_device()),
                           Tensor::from<std::int32_t>({1}, std::vector<std::int32_t>{-1}).to(test_device())};
  const std::vector outputs{Tensor({1}, DType::float32, test_device()), Tensor({1, 3}, DType::float32, test_device())};
  kernel->run({*failing}, inputs, outputs);
  dependent->wait(failing->record());
  CHECK(error_of([&] { dependent->record().wait(); }).starts_with("[softmax_cross_entropy]"));
  CHECK(error_of([&] { other->record().wait(); }).empty());
}

TEST_CASE("tensors and streams of different devices are not mixed", "[test device]") {
  GraphBuilder builder;
  builder.output("y", relu(builder.input("x", {3})) + 1.0);
  const auto graph = std::move(builder).build();
  Program program(graph, 0, test_device(0));
  const auto error_of_binding = [&](const Tensor& tensor) { return error_of([&] { program.bind("x", tensor); }); };
  CHECK(contains(error_of_binding(numbers(1.0F)), "on cpu:0 was given where float32[3] on test:0 is needed"));
  CHECK(contains(error_of_binding(numbers(1.0F).to(test_device(1))), "on test:1 was given where"));
  CHECK(error_of_binding(numbers(1.0F).to(test_device(0))).empty());
  program.run();
  CHECK(first_of(program.output("y")) == 2.0F);
  const auto kernel = make_kernel({&kRelu, {}, {{{3}, DType::float32}}, {{{3}, DType::float32}}}, test_device(0));
  const std::vector here{Tensor({3}, DType::float32, test_device(0))};
  CHECK(contains(error_of([&] { kernel->run({*new_stream(1)}, here, here); }), "[relu] float32[3] on test:0"));
  const auto cpu_stream = backend_of(DeviceType::cpu).make_stream({});
  CHECK(contains(error_of([&] { kernel->run({*cpu_stream}, here, here); }), "not on a stream of cpu:0"));
  CHECK(contains(error_of([&] { copy(*cpu_stream, here[0], numbers(1.0F)); }), "on a stream of cpu:0"));
}

TEST_CASE("a constant in device memory is hashed by its elements", "[test device]") {
  const auto hash_with = [](const Tensor& constant) {
    GraphBuilder builder;
    builder.output("y", relu(builder.constant(constant)));
    return hash_of(std::move(builder).build());
  };
  CHECK(hash_with(numbers(1.0F)) == hash_with(numbers(1.0F).to(test_device())));
  CHECK(hash_with(numbers(1.0F)) != hash_with(numbers(2.0F)));
}

}  // namespace troupe::ops_test
