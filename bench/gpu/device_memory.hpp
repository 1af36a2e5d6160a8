#pragma once

#include <cstdint>

namespace troupe::bench {

/// Bytes of the first GPU that are in use, by all processes together. Throws Error if the GPU does not tell.
std::int64_t device_bytes();

}  // namespace troupe::bench
