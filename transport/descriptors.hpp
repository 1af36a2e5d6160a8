#pragma once

#include <string>

namespace troupe {

/// Throws Error unless `count` further file descriptors can be opened in this process. `place` begins the error text,
/// and `purpose` says what needs the descriptors. ZeroMQ ends the process when it gets none, so this is checked before.
void require_descriptors(int count, const std::string& place, const std::string& purpose);

}  // namespace troupe
