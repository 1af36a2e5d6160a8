#pragma once

#include <memory>

#include "troupe/ops/core/backend.hpp"

namespace troupe {

// These functions make the backends of the library: ops/cpu defines make_cpu_backend(), ops/cuda make_cuda_backend(). A
// function returns null if its backend was left out of the build.
std::unique_ptr<Backend> make_cpu_backend();
std::unique_ptr<Backend> make_cuda_backend();

}  // namespace troupe
