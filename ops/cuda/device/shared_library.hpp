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

/// Declares a member of a class that points to a function of the member `library`, a SharedLibrary that is declared
/// before it. With emulated GPUs, the function is linked.
#ifdef TROUPE_EMULATED_CUDA
#define TROUPE_CUDA_FUNCTION(member, name) decltype(&(name)) member = &(name)
#else
#define TROUPE_CUDA_FUNCTION(member, name) \
  decltype(&(name)) member = reinterpret_cast<decltype(&(name))>(library.function(#name))
#endif

}  // namespace troupe::cuda
