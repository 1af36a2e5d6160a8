#pragma once

#include <memory>

#include "troupe/ops/core/backend.hpp"

namespace troupe {

// These functions make the backends of the library; ops/cpu and ops/cuda define one each. A function returns null if
// its backend was left out of the build.
std::unique_ptr<Backend> make_cpu_backend();
std::unique_ptr<Backend> make_cuda_backend();

}  // namespace troupe
