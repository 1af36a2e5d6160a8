#pragma once

#include <string>

namespace troupe::testing {

/// Notes that the running test case, or a part of it, is skipped, and warns with the reason; the case itself returns.
/// The program counts skipped cases at its end. It ends with status 4, as Catch2 3 does, if it ran no other case.
void skip(const std::string& reason);

}  // namespace troupe::testing
