#pragma once

#include <memory>

#include "troupe/ops/core/backend.hpp"

namespace troupe {

// The backends of the library. Each is defined in its own folder: ops/cpu and ops/cuda. A backend that was left out of
// the build is null.
std::unique_ptr<Backend> make_cpu_backend();
std::unique_ptr<Backend> make_cuda_backend();

}  // namespace troupe
