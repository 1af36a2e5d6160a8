#pragma once

#include <cstdint>

namespace troupe {

/// The largest kernel size, stride and padding of an op on images. Sums of the size of an image and such numbers do not
/// overflow.
inline constexpr std::int64_t kMaxExtent = std::int64_t{1} << 31;

}  // namespace troupe
