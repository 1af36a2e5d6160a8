#pragma once

#include <cublasLt.h>

#include <memory>
#include <string_view>
#include <type_traits>

#include "troupe/ops/cuda/device/shared_library.hpp"

namespace troupe::cuda {

/// The functions of cuBLASLt. The first call of lt_library() loads the library. The program does not link to it,
/// because that would cost every process 150 MB and 60 ms, even on machines without a GPU.
struct LtLibrary {
  SharedLibrary library{"cuBLASLt", {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}};
  TROUPE_CUDA_FUNCTION(create, cublasLtCreate);
  TROUPE_CUDA_FUNCTION(desc_create, cublasLtMatmulDescCreate);
  TROUPE_CUDA_FUNCTION(desc_destroy, cublasLtMatmulDescDestroy);
  TROUPE_CUDA_FUNCTION(desc_set, cublasLtMatmulDescSetAttribute);
  TROUPE_CUDA_FUNCTION(layout_create, cublasLtMatrixLayoutCreate);
  TROUPE_CUDA_FUNCTION(layout_destroy, cublasLtMatrixLayoutDestroy);
  TROUPE_CUDA_FUNCTION(layout_set, cublasLtMatrixLayoutSetAttribute);
  TROUPE_CUDA_FUNCTION(preference_create, cublasLtMatmulPreferenceCreate);
  TROUPE_CUDA_FUNCTION(preference_destroy, cublasLtMatmulPreferenceDestroy);
  TROUPE_CUDA_FUNCTION(preference_set, cublasLtMatmulPreferenceSetAttribute);
  TROUPE_CUDA_FUNCTION(heuristic, cublasLtMatmulAlgoGetHeuristic);
  TROUPE_CUDA_FUNCTION(algo_get, cublasLtMatmulAlgoConfigGetAttribute);
  TROUPE_CUDA_FUNCTION(matmul, cublasLtMatmul);
  TROUPE_CUDA_FUNCTION(status_text, cublasLtGetStatusString);
};

/// The functions of cuBLASLt. Throws Error with the reason if the library cannot be loaded. Thread-safe.
const LtLibrary& lt_library();

/// The cuBLASLt handle of the calling thread's current device; never destroyed. Throws Error if cuBLASLt cannot make
/// one. Thread-safe; several threads may use the handle at once.
cublasLtHandle_t lt_handle();

/// Throws Error("cublas", ...), with `what`, the name of the attempted action, and cuBLAS's error text, unless the
/// status is success.
void check_lt(cublasStatus_t status, std::string_view what);

/// The deleter of LtHandle, which owns a descriptor of cuBLASLt.
struct LtDestroy {
  void operator()(cublasLtMatmulDesc_t desc) const { lt_library().desc_destroy(desc); }
  void operator()(cublasLtMatrixLayout_t layout) const { lt_library().layout_destroy(layout); }
  void operator()(cublasLtMatmulPreference_t preference) const { lt_library().preference_destroy(preference); }
};
template <class Handle>
using LtHandle = std::unique_ptr<std::remove_pointer_t<Handle>, LtDestroy>;

}  // namespace troupe::cuda
