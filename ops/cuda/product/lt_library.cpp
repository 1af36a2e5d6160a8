#include "troupe/ops/cuda/product/lt_library.hpp"

#include <map>
#include <mutex>
#include <string>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/cuda/device/check.hpp"

namespace troupe::cuda {

const LtLibrary& lt_library() {
  static const auto& library = *new LtLibrary;
  return library;
}

cublasLtHandle_t lt_handle() {
  static auto& mutex = *new std::mutex;
  static auto& handles = *new std::map<int, cublasLtHandle_t>;
  const int device = current_device();
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
