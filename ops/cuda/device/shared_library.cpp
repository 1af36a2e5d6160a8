#include "troupe/ops/cuda/device/shared_library.hpp"

#include <dlfcn.h>

#include "troupe/ops/core/error.hpp"

namespace troupe::cuda {

#ifdef TROUPE_EMULATED_CUDA
SharedLibrary::SharedLibrary(const std::string& name, std::initializer_list<const char*>) : name_(name) {}
#else
SharedLibrary::SharedLibrary(const std::string& name, std::initializer_list<const char*> files) : name_(name) {
  std::string reasons;
  for (const auto* file : files) {
    handle_ = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) return;
    reasons += std::string(reasons.empty() ? "" : "; ") + dlerror();
  }
  throw Error("cuda", name + " cannot be loaded: " + reasons);
}
#endif

void* SharedLibrary::function(const char* name) const {
  auto* address = handle_ == nullptr ? nullptr : dlsym(handle_, name);
  if (address == nullptr) throw Error("cuda", name_ + " has no function " + name);
  return address;
}

}  // namespace troupe::cuda
