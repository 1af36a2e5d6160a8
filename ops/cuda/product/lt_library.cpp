#include "troupe/ops/cuda/product/lt_library.hpp"

#include <map>
#include <mutex>
#include <string>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/cuda/device/check.hpp"
#include "troupe/ops/cuda/device/shared_library.hpp"

namespace troupe::cuda {

namespace {

LtLibrary load() {
  const SharedLibrary library("cuBLASLt", {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"});
  LtLibrary functions;
  TROUPE_CUDA_FUNCTION(library, functions.create, cublasLtCreate);
  TROUPE_CUDA_FUNCTION(library, functions.desc_create, cublasLtMatmulDescCreate);
  TROUPE_CUDA_FUNCTION(library, functions.desc_destroy, cublasLtMatmulDescDestroy);
  TROUPE_CUDA_FUNCTION(library, functions.desc_set, cublasLtMatmulDescSetAttribute);
  TROUPE_CUDA_FUNCTION(library, functions.layout_create, cublasLtMatrixLayoutCreate);
  TROUPE_CUDA_FUNCTION(library, functions.layout_destroy, cublasLtMatrixLayoutDestroy);
  TROUPE_CUDA_FUNCTION(library, functions.layout_set, cublasLtMatrixLayoutSetAttribute);
  TROUPE_CUDA_FUNCTION(library, functions.preference_create, cublasLtMatmulPreferenceCreate);
  TROUPE_CUDA_FUNCTION(library, functions.preference_destroy, cublasLtMatmulPreferenceDestroy);
  TROUPE_CUDA_FUNCTION(library, functions.preference_set, cublasLtMatmulPreferenceSetAttribute);
  TROUPE_CUDA_FUNCTION(library, functions.heuristic, cublasLtMatmulAlgoGetHeuristic);
  TROUPE_CUDA_FUNCTION(library, functions.algo_check, cublasLtMatmulAlgoCheck);
  TROUPE_CUDA_FUNCTION(library, functions.algo_get, cublasLtMatmulAlgoConfigGetAttribute);
  TROUPE_CUDA_FUNCTION(library, functions.matmul, cublasLtMatmul);
  TROUPE_CUDA_FUNCTION(library, functions.status_text, cublasLtGetStatusString);
  return functions;
}

}  // namespace

const LtLibrary& lt_library() {
  static const LtLibrary kLibrary = load();
  return kLibrary;
}

cublasLtHandle_t lt_handle() {
  static auto& mutex = *new std::mutex;
  static auto& handles = *new std::map<int, cublasLtHandle_t>;
  int device = 0;
  check(cudaGetDevice(&device), "asking for the current device");
  std::lock_guard lock(mutex);
  auto& handle = handles[device];
  if (handle == nullptr) check_lt(lt_library().create(&handle), "making a handle");
  return handle;
}

void check_lt(cublasStatus_t status, std::string_view what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw Error("cublas", std::string(what) + ": " + lt_library().status_text(status));
}

}  // namespace troupe::cuda
