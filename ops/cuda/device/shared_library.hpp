#pragma once

#include <initializer_list>
#include <string>

namespace troupe::cuda {

/// A library of NVIDIA that is loaded on first use and stays loaded until the process ends.
class SharedLibrary {
 public:
  /// Loads the first of `files` that exists. Throws Error that names the library and the reasons if none can be loaded.
  SharedLibrary(const std::string& name, std::initializer_list<const char*> files);

  /// Throws Error if the library has no such function.
  void* function(const char* name) const;

 private:
  std::string name_;
  void* handle_ = nullptr;
};

/// Sets a pointer to a function of the library. With emulated GPUs, the function is linked.
#ifdef TROUPE_EMULATED_CUDA
#define TROUPE_CUDA_FUNCTION(library, pointer, name) (static_cast<void>(library), (pointer) = &(name))
#else
#define TROUPE_CUDA_FUNCTION(library, pointer, name) \
  ((pointer) = reinterpret_cast<decltype(&(name))>((library).function(#name)))
#endif

}  // namespace troupe::cuda
