#pragma once

#include <initializer_list>
#include <string>

namespace troupe::cuda {

/// A shared library of NVIDIA. The constructor loads it, and it stays loaded until the process ends. In a build with
/// emulated GPUs the constructor loads nothing, and function() throws Error.
class SharedLibrary {
 public:
  /// Loads the first of `files` that can be loaded. If there is none, throws Error with `name` and the reasons.
  SharedLibrary(const std::string& name, std::initializer_list<const char*> files);

  /// Returns the address of a function. Throws Error if the library has no such function.
  void* function(const char* name) const;

 private:
  std::string name_;
  void* handle_ = nullptr;
};

/// Declares a member of a class that points to a function of the member `library`, a SharedLibrary that must be
/// declared before it. In a build with emulated GPUs the member points to a function that is linked into the program.
#ifdef TROUPE_EMULATED_CUDA
#define TROUPE_CUDA_FUNCTION(member, name) decltype(&(name)) member = &(name)
#else
#define TROUPE_CUDA_FUNCTION(member, name) \
  decltype(&(name)) member = reinterpret_cast<decltype(&(name))>(library.function(#name))
#endif

}  // namespace troupe::cuda
