#pragma once

#include <memory>

#include "troupe/ops/core/backend.hpp"

namespace troupe {

/// The backends of the library, each defined by its own folder. Null if the library was built without it.
std::unique_ptr<Backend> make_cpu_backend();
std::unique_ptr<Backend> make_cuda_backend();

}  // namespace troupe
