#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace troupe {

/// The largest number of bytes of the name of a field, a parameter or another part of a program. States of a parameter,
/// such as "w/velocity", and outputs of a graph have longer names, made of such a name and other words.
inline constexpr std::size_t kMaxNameBytes = 1'024;
inline constexpr std::size_t kMaxMadeNameBytes = 2 * kMaxNameBytes;

/// Throws Error unless files and reports can hold the name: valid UTF-8 of 1 to `most_bytes` bytes without control
/// characters, quotation marks and backslashes. The text of the error begins with `place` in brackets and names `what`,
/// such as "a parameter".
void expect_name(std::string_view place, std::string_view what, std::string_view name,
                 std::size_t most_bytes = kMaxNameBytes);

}  // namespace troupe
