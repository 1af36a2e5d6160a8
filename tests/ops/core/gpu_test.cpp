#include "troupe/tests/gpu.hpp"

#include <functional>
#include <numeric>

#include "troupe/ops/core/tensor.hpp"
#include "troupe/ops/fused/finite.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/graph/program.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/softmax.hpp"
#include "troupe/tests/ops/support.hpp"

namespace troupe::ops_test {

namespace {

constexpr std::int64_t kNumbers = 1000;

Tensor counting_from(float first) {
  std::vector<float> numbers(kNumbers);
  std::iota(numbers.begin(), numbers.end(), first);
  return Tensor::from<float>({kNumbers}, numbers);
}

std::unique_ptr<Stream> stream_of(Device device) {
  return backend_of(device).make_stream(device);
}

bool is_zero(const Tensor& tensor) {
  const auto host = tensor.copy_to_host();
  return std::ranges::all_of(host.data<float>(), [](float x) { return x == 0.0F; });
}

Graph doubled() {
  GraphBuilder builder;
  builder.output("y", scale(builder.input("x", {kNumbers}), 2.0));
  return std::move(builder).build();
}

}  // namespace

TEST_CASE("tensors travel to a GPU and back, and new ones are zero", "[.gpu]") {
  const auto device = testing::gpu();
  if (!device) return;
  const auto there = counting_from(3.0F).to(*device);
  CHECK_FALSE(there.host_accessible());
  CHECK(there.copy_to_host().data<float>()[kNumbers - 1] == 2.0F + kNumbers);
  for (int i = 0; i < 3; ++i) {
    const Tensor fresh({kNumbers}, DType::float32, *device);
    CHECK(is_zero(fresh));
    copy_and_wait(there, fresh);  // the memory that is released now is not zero
  }
}

TEST_CASE("a released tensor is reused only after the work that was launched on it", "[.gpu]") {
  const auto device = testing::gpu();
  if (!device) return;
  const auto stream = stream_of(*device);
  const Tensor result({kNumbers}, DType::float32, *device);
  for (int i = 0; i < 50; ++i) {
    auto source = counting_from(static_cast<float>(i)).to(*device);
    copy(*stream, source, result);
    source = Tensor();
    const Tensor other({kNumbers}, DType::float32, *device);
    stream->record().wait();
    CHECK(result.copy_to_host().data<float>()[0] == static_cast<float>(i));
  }
}

TEST_CASE("a stream of a GPU waits for the event of another", "[.gpu]") {
  const auto device = testing::gpu();
  if (!device) return;
  const auto first = stream_of(*device), second = stream_of(*device);
  const auto source = counting_from(5.0F).to(*device);
  const Tensor middle({kNumbers}, DType::float32, *device), end({kNumbers}, DType::float32, *device);
  for (int i = 0; i < 20; ++i) {
    copy(*first, source, middle);
    second->wait(first->record());
    copy(*second, middle, end);
    const auto done = second->record();
    done.wait();
    CHECK(done.done());
    CHECK(end.copy_to_host().data<float>()[1] == 6.0F);
    first->zero(middle.address(), middle.bytes());
    first->zero(end.address(), end.bytes());
    first->record().wait();
  }
}

TEST_CASE("captured work of a GPU runs on the elements that its memory has at the launch", "[.gpu]") {
  const auto device = testing::gpu();
  if (!device) return;
  const auto stream = stream_of(*device);
  REQUIRE(stream->can_capture());
  const Tensor from({kNumbers}, DType::float32, *device), to({kNumbers}, DType::float32, *device);
  const auto kernel = make_kernel(
      {&kScale, Attributes{{"factor", 3.0}}, {{{kNumbers}, DType::float32}}, {{{kNumbers}, DType::float32}}}, *device);
  stream->begin_capture();
  kernel->run({*stream, nullptr}, std::vector{from}, std::vector{to});
  const auto work = stream->end_capture();
  CHECK(is_zero(to));
  for (int i = 1; i < 4; ++i) {
    copy_and_wait(counting_from(static_cast<float>(i)), from);
    stream->launch(*work);
    stream->record().wait();
    CHECK(to.copy_to_host().data<float>()[0] == 3.0F * static_cast<float>(i));
  }
}

TEST_CASE("captured launches of a GPU wait for the launches that they name", "[.gpu]") {
  const auto device = testing::gpu();
  if (!device) return;
  const auto stream = stream_of(*device);
  std::vector<Tensor> places;
  for (int i = 0; i < 5; ++i) places.emplace_back(Shape{kNumbers}, DType::float32, *device);
  const auto copy_next = [&](std::vector<std::size_t> waits_for, std::size_t from, std::size_t to) {
    stream->begin_launch(waits_for);
    copy(*stream, places[from], places[to]);
  };
  stream->begin_capture();
  copy_next({}, 0, 1);
  copy_next({0}, 1, 2);
  copy_next({}, 0, 3);
  copy_next({1, 2}, 2, 4);
  const auto work = stream->end_capture();
  for (int i = 1; i < 9; ++i) {
    copy_and_wait(counting_from(static_cast<float>(i)), places[0]);
    stream->launch(*work);
    stream->record().wait();
    for (const auto& place : places) CHECK(place.copy_to_host().data<float>()[1] == static_cast<float>(i + 1));
  }
}

TEST_CASE("a product may be the first of captured launches, and may wait for several", "[.gpu]") {
  const auto device = testing::gpu();
  if (!device) return;
  const auto stream = stream_of(*device);
  constexpr std::int64_t kSize = 128;
  const TensorInfo matrix{{kSize, kSize}, DType::float32};
  std::vector<Tensor> places;
  for (int i = 0; i < 4; ++i) places.emplace_back(matrix.shape, DType::float32, *device);
  const Tensor &x = places[0], &first = places[1], &zeros = places[2], &second = places[3];
  const auto product = make_kernel(
      {&kMatmul, {{"transpose_a", false}, {"transpose_b", false}, {"relu", false}}, {matrix, matrix}, {matrix}},
      *device);
  const auto sum = make_kernel({&kAdd, {}, {matrix, matrix}, {matrix}}, *device);
  const Tensor scratch({static_cast<std::int64_t>(product->scratch_bytes())}, DType::uint8, *device);
  const KernelContext context{*stream, scratch.address()};
  const auto ones = Tensor::from<float>(matrix.shape, std::vector<float>(kSize * kSize, 1.0F));
  copy_and_wait(ones, x);
  // The first run of a kernel may load or prepare something, which cannot be captured.
  product->run(context, std::vector{x, x}, std::vector{zeros});
  sum->run(context, std::vector{x, x}, std::vector{zeros});
  stream->record().wait();
  const auto launch = [&](std::vector<std::size_t> waits_for, const std::function<void()>& work) {
    stream->begin_launch(waits_for);
    work();
  };
  stream->begin_capture();
  launch({}, [&] { product->run(context, std::vector{x, x}, std::vector{first}); });
  launch({}, [&] { stream->zero(zeros.address(), zeros.bytes()); });
  launch({0, 1}, [&] { sum->run(context, std::vector{first, zeros}, std::vector{second}); });
  launch({2}, [&] { product->run(context, std::vector{second, x}, std::vector{first}); });
  const auto work = stream->end_capture();
  for (int i = 0; i < 3; ++i) {
    stream->launch(*work);
    stream->record().wait();
    CHECK(second.copy_to_host().data<float>()[7] == static_cast<float>(kSize));
    CHECK(first.copy_to_host().data<float>()[7] == static_cast<float>(kSize * kSize));
  }
}

TEST_CASE("an event of a GPU may be queried while its thread captures", "[.gpu]") {
  const auto device = testing::gpu();
  if (!device) return;
  const auto stream = stream_of(*device), other = stream_of(*device);
  const Tensor tensor({kNumbers}, DType::float32, *device);
  other->zero(tensor.address(), tensor.bytes());
  const auto event = other->record();
  event.wait();
  stream->begin_capture();
  stream->zero(tensor.address(), tensor.bytes());
  CHECK(event.done());
  CHECK(event.error() == nullptr);
  CHECK_NOTHROW(stream->end_capture());
}

TEST_CASE("events of a GPU that were recorded with their time give the time between them", "[.gpu]") {
  const auto device = testing::gpu();
  if (!device) return;
  const auto stream = stream_of(*device);
  const auto begin = stream->record_with_time();
  const Tensor tensor({kNumbers}, DType::float32, *device);
  stream->zero(tensor.address(), tensor.bytes());
  const auto end = stream->record_with_time();
  end.wait();
  const auto time = end.state()->time_since(*begin.state());
  REQUIRE(time.has_value());
  CHECK(time->count() >= 0);
}

TEST_CASE("an invalid value is the same error on a GPU and on the CPU", "[.gpu]") {
  const auto device = testing::gpu();
  if (!device) return;
  const auto error_on = [](Device on) {
    GraphBuilder builder;
    const auto logits = builder.input("x", {kBatch, 10});
    builder.output("loss", softmax_cross_entropy(logits, builder.input("labels", {kBatch}, DType::int32)).loss);
    Program program(std::move(builder).build(), 3, on);
    program.bind("x", Tensor({3, 10}, DType::float32).to(on));
    program.bind("labels", Tensor::from<std::int32_t>({3}, std::vector<std::int32_t>{1, 12, 2}).to(on));
    return error_of([&] { program.run(); });
  };
  CHECK(contains(error_on(*device), "label 12 of row 1 is not one of the 10 classes"));
  CHECK(error_on(*device) == error_on(Device{}));
}

TEST_CASE("an invalid value on one stream of a GPU is not reported by later streams", "[.gpu]") {
  const auto device = testing::gpu();
  if (!device) return;
  const auto error_of_label = [&](std::int32_t label) {
    GraphBuilder builder;
    const auto logits = builder.input("x", {kBatch, 10});
    builder.output("loss", softmax_cross_entropy(logits, builder.input("labels", {kBatch}, DType::int32)).loss);
    Program program(std::move(builder).build(), 1, *device);
    program.bind("x", Tensor({1, 10}, DType::float32).to(*device));
    program.bind("labels", Tensor::from<std::int32_t>({1}, std::vector{label}).to(*device));
    return error_of([&] { program.run(); });
  };
  for (std::int32_t i = 0; i < 100; ++i) {
    CHECK(contains(error_of_label(50 + i), "label " + std::to_string(50 + i) + " of row 0"));
    CHECK(error_of_label(i % 10).empty());
  }
}

TEST_CASE("a stream of a GPU ends, and memory is released after it, without waiting for other streams", "[.gpu]") {
  const auto device = testing::gpu();
  if (!device) return;
  const auto busy = stream_of(*device);
  const Tensor from({16 << 20}, DType::float32, *device), to({16 << 20}, DType::float32, *device);
  auto ending = stream_of(*device);
  auto released = Tensor({kNumbers}, DType::float32, *device);
  for (int i = 0; i < 50; ++i) copy(*busy, from, to);
  const auto done = busy->record();
  ending.reset();
  // The pool drops streams that have ended when memory is released.
  released = Tensor();
  CHECK_FALSE(done.done());
  done.wait();
}

TEST_CASE("tensors of another device, and devices that do not exist, are refused by name", "[.gpu]") {
  const auto device = testing::gpu();
  if (!device) return;
  const auto stream = stream_of(*device);
  const TensorInfo info{{4}, DType::float32};
  const auto kernel = make_kernel({&kAdd, {}, {info, info}, {info}}, *device);
  const Tensor here({4}, DType::float32, *device), host({4}, DType::float32);
  CHECK(contains(error_of([&] {
                   kernel->run({*stream, nullptr}, std::vector{here, host}, std::vector{here});
                 }),
                 "[add] float32[4] on cpu:0 was given to a kernel on cuda:0"));
  const auto cpu = stream_of(Device{});
  CHECK(contains(error_of([&] {
                   kernel->run({*cpu, nullptr}, std::vector{here, here}, std::vector{here});
                 }),
                 "[add] runs on GPUs, not on a stream of cpu:0"));
  CHECK(contains(error_of([] { Program(doubled(), 1, {DeviceType::cuda, 99}); }), "there is no cuda:99"));
}

TEST_CASE("a GPU that is out of memory reports the bytes requested, and goes on", "[.gpu]") {
  const auto device = testing::gpu();
  if (!device) return;
  const auto too_large = [&] { Tensor({std::int64_t{1} << 45}, DType::float32, *device); };
  CHECK_THROWS_AS(too_large(), OutOfMemory);
  CHECK(contains(error_of(too_large), "[cuda] out of memory: 140737488355328 bytes requested on cuda:0"));
  Program program(doubled(), 1, *device);
  program.bind("x", counting_from(1.0F).to(*device));
  program.run();
  CHECK(program.output("y").copy_to_host().data<float>()[1] == 4.0F);
}

}  // namespace troupe::ops_test
