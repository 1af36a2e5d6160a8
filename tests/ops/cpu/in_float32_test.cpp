#include "troupe/ops/cpu/in_float32.hpp"

#include <cstring>
#include <vector>

#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/core/random.hpp"
#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/tests/catch.hpp"

namespace troupe::ops_test {

namespace {

Tensor numbers_of(const TensorInfo& info, std::uint64_t stream) {
  Tensor tensor(info.shape, info.dtype);
  cpu::with_float_type(info.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    for (std::int64_t i = 0; i < tensor.elements(); ++i)
      cpu::elements<T>(tensor)[i] = T(3.0F * uniform(7, stream, static_cast<std::uint64_t>(i)) - 1.0F);
  });
  return tensor;
}

/// The results of a kernel on numbers between -1 and 2, in memory that held NaNs before.
std::vector<Tensor> run_kernel_of(const OpCall& call, Kernel& kernel) {
  std::vector<Tensor> inputs, outputs;
  for (const auto& info : call.inputs) inputs.push_back(numbers_of(info, inputs.size()));
  for (const auto& info : call.outputs) {
    outputs.emplace_back(info.shape, info.dtype);
    std::memset(outputs.back().address(), 0xFF, outputs.back().bytes());
  }
  const auto stream = backend_of(Device{}).make_stream(Device{});
  const auto scratch = backend_of(Device{}).allocate(Device{}, kernel.scratch_bytes());
  kernel.run({*stream, scratch.get()}, inputs, outputs);
  return outputs;
}

/// A call with 13 in place of the leading size kBatch.
OpCall call_of(const OpDef& op, const Attributes& attributes, std::vector<TensorInfo> inputs) {
  auto outputs = op.infer(OpInputs{op.name, inputs, attributes});
  return with_rows({&op, attributes, std::move(inputs), std::move(outputs)}, 13);
}

/// Checks that the kernel of a call with 16-bit floats has the bits of the float32 kernel between conversions.
void check_bits(const OpCall& call, std::unique_ptr<Kernel> (*factory)(const OpCall&)) {
  const auto native = make_kernel(call, Device{}), converting = cpu::in_float32(call, factory);
  const auto got = run_kernel_of(call, *native), expected = run_kernel_of(call, *converting);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO(call.op->name << ", output " << i << ", " << to_string(call.inputs[0]));
    CHECK(got[i].dtype() == call.outputs[i].dtype);
    CHECK(std::memcmp(got[i].address(), expected[i].address(), expected[i].bytes()) == 0);
  }
}

/// Checks the ops of batch_norm in all of their forms.
void check_batch_norm(DType dtype, std::int64_t channels) {
  const TensorInfo x{Shape{kBatch, 5, 2, channels}, dtype}, of_channel{Shape{channels}, DType::float32};
  const TensorInfo count{Shape{}, DType::float32}, sums{Shape{2, channels}, DType::float32};
  const auto attributes_with = [](bool relu, bool of_batch) {
    // The variance may be negative down to -1.
    return Attributes{{"epsilon", 1.5}, {"of_batch", of_batch}, {"all_reduced", false}, {"relu", relu}};
  };
  check_bits(call_of(kReplicaMoments, {}, {x}), cpu::make_replica_moments);
  for (const bool relu : {false, true}) {
    std::vector<TensorInfo> inputs{x, of_channel, of_channel, of_channel, of_channel, count};
    check_bits(call_of(kBatchNorm, attributes_with(relu, true), inputs), cpu::make_batch_norm);
    inputs.push_back(x);
    check_bits(call_of(kBatchNorm, attributes_with(relu, true), inputs), cpu::make_batch_norm);
    for (const bool of_batch : {false, true}) {
      std::vector<TensorInfo> of_gradient{x, x, of_channel, of_channel, of_channel, count};
      if (of_batch) of_gradient.push_back(sums);
      if (relu) of_gradient.push_back(of_channel);
      check_bits(call_of(kBatchNormGrad, attributes_with(relu, of_batch), of_gradient), cpu::make_batch_norm_grad);
    }
  }
  const std::vector<TensorInfo> of_sums{x, x, of_channel, of_channel};
  auto again = of_sums, kept = of_sums;
  again.insert(again.end(), {of_channel, of_channel});
  kept.push_back(x);
  check_bits(call_of(kBatchNormGradSums, attributes_with(false, true), of_sums), cpu::make_batch_norm_grad_sums);
  check_bits(call_of(kBatchNormGradSums, attributes_with(true, true), again), cpu::make_batch_norm_grad_sums);
  check_bits(call_of(kBatchNormGradSums, attributes_with(true, true), kept), cpu::make_batch_norm_grad_sums);
}

}  // namespace

TEST_CASE("a kernel in float32 converts its 16-bit inputs and rounds its 16-bit results", "[kernel]") {
  for (const auto dtype : {DType::float16, DType::bfloat16}) {
    // Two blocks of 4,096 and a rest.
    constexpr std::int64_t kNumbers = 8300;
    const TensorInfo narrow{Shape{83, 100}, dtype};
    const auto call = call_of(kMul, {}, {narrow, narrow});
    const auto kernel = cpu::in_float32(call, cpu::make_mul);
    const auto got = run_kernel_of(call, *kernel), again = run_kernel_of(call, *kernel);
    cpu::with_float_type(dtype, [&](auto* type) {
      using T = std::remove_pointer_t<decltype(type)>;
      const auto a = numbers_of(narrow, 0), b = numbers_of(narrow, 1);
      for (std::int64_t i = 0; i < kNumbers; ++i) {
        const T product(static_cast<float>(cpu::elements<T>(a)[i]) * static_cast<float>(cpu::elements<T>(b)[i]));
        REQUIRE(std::memcmp(cpu::elements<T>(got[0]) + i, &product, sizeof(T)) == 0);
      }
    });
    CHECK(std::memcmp(got[0].address(), again[0].address(), got[0].bytes()) == 0);
  }
}

TEST_CASE("sums of 16-bit tensors have the bits of float32 sums between conversions", "[kernel]") {
  for (const auto dtype : {DType::float16, DType::bfloat16}) {
    const TensorInfo narrow{Shape{kBatch, 7, 11}, dtype}, row{Shape{11}, dtype};
    check_bits(call_of(kAdd, {}, {narrow, narrow}), cpu::make_add);
    check_bits(call_of(kAdd, {}, {narrow, row}), cpu::make_add);
  }
}

TEST_CASE("norms of images in 16 bits have the bits of float32 norms between conversions", "[kernel]") {
  for (const auto dtype : {DType::float16, DType::bfloat16})
    for (const std::int64_t channels : {2, 3, 16, 24, 64, 96, 100}) check_batch_norm(dtype, channels);
}

// oneDNN would add up all pixels in one float.
TEST_CASE("the gradient of a bias over many pixels of bfloat16 is summed in blocks", "[kernel]") {
  for (const std::int64_t channels : {1, 16}) {
    constexpr std::int64_t kSide = 300, kFilters = 16;
    const TensorInfo x{Shape{2, kSide, kSide, channels}, DType::bfloat16};
    const TensorInfo dy{Shape{2, kSide, kSide, kFilters}, DType::bfloat16};
    const Attributes attributes{{"stride", std::int64_t{1}},
                                {"padding", std::int64_t{1}},
                                {"groups", std::int64_t{1}},
                                {"bias", true},
                                {"shape", std::vector<std::int64_t>{3, 3, channels, kFilters}}};
    const auto call = call_of(kConv2dGradWeights, attributes, {x, dy});
    const auto kernel = make_kernel(call, Device{});
    const auto results = run_kernel_of(call, *kernel);
    const auto gradient = numbers_of(dy, 1);
    std::vector<double> sums(kFilters);
    for (std::int64_t i = 0; i < gradient.elements(); ++i)
      sums[static_cast<std::size_t>(i % kFilters)] += static_cast<float>(cpu::elements<BFloat16>(gradient)[i]);
    for (std::size_t filter = 0; filter < kFilters; ++filter)
      CHECK(results[1].data<float>()[filter] == Approx(sums[filter]).epsilon(1e-6));
  }
}

}  // namespace troupe::ops_test
