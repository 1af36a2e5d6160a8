#include "troupe/ops/cuda/cudnn/cudnn_plan.hpp"

#include <optional>
#include <string_view>

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/skip.hpp"

using namespace troupe;
using namespace troupe::cuda;

namespace {

using Kind = ConvolutionTask::Kind;

/// The description of an H200 by cuDNN.
constexpr std::string_view kH200 =
    R"({"name": "NVIDIA H200", "deviceName": "NVIDIA H200", "deviceVer": 900, "driverVer": 13000, "cudaDeviceId": 0,
"pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1, "multiProcessorCount": 132, "warpSize": 32,
"maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "maxThreadsPerBlock": 1024,
"maxThreadsPerSM": 2048, "maxCtasPerSM": 32, "regsPerBlock": 65536, "maxRegistersPerSM": 65536,
"maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448, "reservedSharedMemoryPerBlock": 1024,
"smClockRateKHz": 1980000, "memClockRateKHz": 3201000, "l2CacheSize": 62914560, "totalGlobalMem": 150754820096})";

/// The properties of an H200. Nothing if cuDNN is missing or needs a GPU to plan.
std::optional<CudnnDescriptor> described_gpu() {
  try {
    CudnnDescriptor properties(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    properties.set_all(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                       static_cast<std::int64_t>(kH200.size()), kH200.data());
    properties.finalize();
    return properties;
  } catch (const Error& error) {
    testing::skip(error.what());
    return std::nullopt;
  }
}

Convolution convolution(std::int64_t rows, std::int64_t size, std::int64_t channels, std::int64_t filters,
                        std::int64_t kernel, std::int64_t stride, std::int64_t padding, std::int64_t groups) {
  const auto y_size = (size + 2 * padding - kernel) / stride + 1;
  return {Attributes{{"stride", stride}, {"padding", padding}, {"groups", groups}}, Shape{rows, size, size, channels},
          Shape{kernel, kernel, channels / groups, filters}, Shape{rows, y_size, y_size, filters}};
}

struct Precision {
  DType dtype;
  bool tf32;
};

/// All proposals for a task, prepared.
std::vector<CudnnPlan> plans_for(const ConvolutionTask& task, const CudnnDescriptor& gpu) {
  INFO(task.key());
  const CudnnGraph graph(task, {.properties = &gpu});
  std::vector<CudnnPlan> plans;
  for (const auto& [name, configuration] : cudnn_proposals(graph, task.dtype == DType::float32 && !task.tf32)) {
    INFO(name);
    CHECK(name.find_first_of(" \n") == std::string::npos);
    plans.emplace_back(*configuration, graph.target());
  }
  return plans;
}

}  // namespace

TEST_CASE("cuDNN has plans for convolutions, fused with a bias and a relu, and for their gradients") {
  const auto gpu = described_gpu();
  if (!gpu) return;
  for (const auto& shape : {convolution(512, 28, 1, 32, 3, 1, 0, 1), convolution(512, 13, 32, 64, 3, 1, 0, 1),
                            convolution(3, 6, 3, 16, 5, 2, 2, 1), convolution(5, 5, 8, 4, 3, 1, 1, 4)})
    for (const auto& [dtype, tf32] : {Precision{DType::float32, false}, Precision{DType::float32, true},
                                      Precision{DType::bfloat16, false}, Precision{DType::float16, false}}) {
      const ConvolutionTask forward{
          .kind = Kind::forward, .shape = shape, .dtype = dtype, .gradient = dtype, .tf32 = tf32};
      auto fused = forward, grad_data = forward, grad_weights = forward;
      fused.bias = fused.relu = true;
      grad_data.kind = Kind::grad_data;
      grad_weights.kind = Kind::grad_weights;
      for (const auto& task : {forward, fused, grad_data, grad_weights}) {
        INFO(task.key());
        CHECK_FALSE(plans_for(task, *gpu).empty());
      }
    }
}

TEST_CASE("convolutions without a plan of cuDNN are refused") {
  const auto gpu = described_gpu();
  if (!gpu) return;
  ConvolutionTask task{.kind = Kind::forward, .shape = convolution(2, 6, 3, 4, 3, 1, 0, 1)};
  task.dtype = DType::int64;
  CHECK_THROWS_WITH(CudnnGraph(task, {.properties = &*gpu}), "[cudnn] does not convolve int64");
}
