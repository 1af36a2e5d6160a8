#pragma once

#include <cstdint>

namespace troupe::bench {

/// The bytes of the first GPU that all processes together use. Throws Error if the GPU does not report them.
std::int64_t device_bytes();

}  // namespace troupe::bench
