#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <initializer_list>

#include "emulated/launch.h"
#include "troupe/tests/emulated_cuda/device.hpp"
#include "troupe/tests/emulated_cuda/matmul.hpp"
#include "troupe/tests/emulated_cuda/matrix.hpp"

using namespace emulated_cuda;

struct cublasLtContext {
  Device& device;
};

namespace {

constexpr std::uint64_t kMagic = 0x454d554c41544544;
// No algorithm requires a larger alignment of the operands.
constexpr std::uint32_t kWidestAccess = 16;
// The alignment of a workspace that the documentation of cublasLtMatmul requires.
constexpr std::uint32_t kWorkspaceAlignment = 256;

/// The content of a cublasLtMatmulAlgo_t.
struct Algorithm {
  std::uint64_t magic = kMagic;
  SumOrder order = SumOrder::kAscending;
  /// The alignments that A, B, C and D must have.
  std::uint32_t alignments[4] = {1, 1, 1, 1};
  /// Differs between processes, like some bytes of the algorithms of real GPUs.
  std::uint64_t of_process = static_cast<std::uint64_t>(getpid());
  std::uint64_t unused[3] = {};
};
static_assert(sizeof(Algorithm) == sizeof(cublasLtMatmulAlgo_t));

bool read(const cublasLtMatmulAlgo_t& algo, Algorithm& algorithm) {
  algorithm = std::bit_cast<Algorithm>(algo);
  return algorithm.magic == kMagic && algorithm.order <= SumOrder::kDescending;
}

std::size_t workspace_of(const Algorithm& algorithm, const MatmulShape& shape) {
  return algorithm.order == SumOrder::kHalves ? shape.m * shape.n * sizeof(float) : 0;
}

cublasLtMatmulHeuristicResult_t result_of(const Algorithm& algorithm, const MatmulShape& shape) {
  cublasLtMatmulHeuristicResult_t result{};
  result.algo = std::bit_cast<cublasLtMatmulAlgo_t>(algorithm);
  result.workspaceSize = workspace_of(algorithm, shape);
  result.state = CUBLAS_STATUS_SUCCESS;
  result.wavesCount = 1;
  return result;
}

bool is_aligned(const void* pointer, std::uint32_t alignment) {
  return reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0;
}

/// Checks the conditions that depend on the pointers.
bool are_pointers_valid(const MatmulCall& call, const Algorithm& algorithm, std::size_t workspace_bytes) {
  if (!call.a || !call.b || !call.d || (call.beta != 0 && !call.c)) return false;
  const void* const operands[] = {call.a, call.b, call.beta != 0 ? call.c : nullptr, call.d};
  for (int i = 0; i < 4; ++i) {
    if (!is_aligned(operands[i], algorithm.alignments[i])) return false;
  }
  const cublasLtEpilogue_t epilogue = call.desc.epilogue;
  const auto is_there = [](const void* pointer) { return pointer && is_aligned(pointer, kWidestAccess); };
  if (has(epilogue, kBias | kBiasGradient | kBiasGradientA | kBiasGradientB) && !is_there(call.desc.bias)) return false;
  if (has(epilogue, kAux) && !is_there(call.desc.aux)) return false;
  if (!is_aligned(call.workspace, kWorkspaceAlignment)) return false;
  const std::size_t required = workspace_of(algorithm, call.shape);
  return required == 0 || (call.workspace && workspace_bytes >= required);
}

}  // namespace

size_t cublasLtGetVersion() {
  return CUBLAS_VERSION;
}

const char* cublasLtGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
      return "an error of cuBLAS that is not emulated";
  }
}

const char* cublasLtGetStatusString(cublasStatus_t status) {
  return cublasLtGetStatusName(status);
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  if (device_count() == 0) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = new cublasLtContext{current_device()};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int requested,
                                              cublasLtMatmulHeuristicResult_t results[], int* returned) {
  *returned = 0;
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (requested <= 0 || !preference) return CUBLAS_STATUS_INVALID_VALUE;
  MatmulShape shape;
  if (const auto status = check_operands(*desc, *a, *b, *c, *d, shape)) return status;
  const MatrixLayout* const layouts[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i) {
    if (preference->alignments[i] < bytes_of(layouts[i]->type)) return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  for (SumOrder order : {SumOrder::kAscending, SumOrder::kHalves, SumOrder::kDescending}) {
    Algorithm algorithm{.order = order};
    for (int i = 0; i < 4; ++i) algorithm.alignments[i] = std::min(kWidestAccess, preference->alignments[i]);
    if (*returned == requested || workspace_of(algorithm, shape) > preference->max_workspace_bytes) continue;
    results[(*returned)++] = result_of(algorithm, shape);
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                                       cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t* algo, cublasLtMatmulHeuristicResult_t* result) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  MatmulShape shape;
  if (const auto status = check_operands(*desc, *a, *b, *c, *d, shape)) return status;
  Algorithm algorithm;
  if (!read(*algo, algorithm)) return CUBLAS_STATUS_INVALID_VALUE;
  *result = result_of(algorithm, shape);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute, void* value,
                                                    size_t bytes, size_t* written) {
  Algorithm algorithm;
  if (!read(*algo, algorithm)) return CUBLAS_STATUS_INVALID_VALUE;
  const bool splits = algorithm.order == SumOrder::kHalves;
  std::uint32_t number = 0;
  if (attribute == CUBLASLT_ALGO_CONFIG_ID) number = static_cast<std::uint32_t>(algorithm.order);
  if (attribute == CUBLASLT_ALGO_CONFIG_SPLITK_NUM) number = splits ? 2 : 1;
  if (attribute == CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME && splits) number = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  const bool is_short =
      attribute == CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID || attribute == CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID;
  const std::size_t size = is_short ? sizeof(std::uint16_t) : sizeof number;
  if (written) *written = size;
  if (bytes == 0 && written) return CUBLAS_STATUS_SUCCESS;
  if (bytes != size || !value) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(value, &number, size);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                              const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algo, void* workspace,
                              size_t workspace_bytes, cudaStream_t stream) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!desc || !alpha || !beta) return CUBLAS_STATUS_INVALID_VALUE;
  MatmulCall call{*desc,
                  *a_layout,
                  *b_layout,
                  *c_layout,
                  *d_layout,
                  {},
                  0,
                  0,
                  a,
                  b,
                  c,
                  d,
                  SumOrder::kAscending,
                  static_cast<float*>(workspace)};
  if (const auto status =
          check_operands(call.desc, call.a_layout, call.b_layout, call.c_layout, call.d_layout, call.shape)) {
    return status;
  }
  std::memcpy(&call.alpha, alpha, sizeof call.alpha);
  std::memcpy(&call.beta, beta, sizeof call.beta);
  Algorithm algorithm;
  if (algo && !read(*algo, algorithm)) return CUBLAS_STATUS_INVALID_VALUE;
  call.order = algorithm.order;
  if (!are_pointers_valid(call, algorithm, workspace_bytes)) return CUBLAS_STATUS_INVALID_VALUE;
  const cudaError_t error = launch_work(stream, [call] { run_matmul(call); });
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
