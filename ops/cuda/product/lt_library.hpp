#pragma once

#include <cublasLt.h>

#include <memory>
#include <string_view>
#include <type_traits>

namespace troupe::cuda {

/// The functions of cuBLASLt. The library is loaded when the first product is prepared: if it were linked, it would
/// cost every process 150 MB and 60 ms, even on machines without a GPU.
struct LtLibrary {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtMatmulDescCreate) desc_create = nullptr;
  decltype(&cublasLtMatmulDescDestroy) desc_destroy = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) layout_create = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
  decltype(&cublasLtMatrixLayoutSetAttribute) layout_set = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  decltype(&cublasLtMatmulAlgoCheck) algo_check = nullptr;
  decltype(&cublasLtMatmulAlgoConfigGetAttribute) algo_get = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtGetStatusString) status_text = nullptr;
};

/// The library. Throws Error with the reason if it cannot be loaded. Thread-safe.
const LtLibrary& lt_library();

/// The handle of the calling thread's current device; never destroyed. Thread-safe, including its use.
cublasLtHandle_t lt_handle();

/// Throws Error("cublas", ...) unless the status is success.
void check_lt(cublasStatus_t status, std::string_view what);

/// Destroys a descriptor of cuBLASLt.
struct LtDestroy {
  void operator()(cublasLtMatmulDesc_t desc) const { lt_library().desc_destroy(desc); }
  void operator()(cublasLtMatrixLayout_t layout) const { lt_library().layout_destroy(layout); }
  void operator()(cublasLtMatmulPreference_t preference) const { lt_library().preference_destroy(preference); }
};
template <class Handle>
using LtHandle = std::unique_ptr<std::remove_pointer_t<Handle>, LtDestroy>;

}  // namespace troupe::cuda
