#pragma once

#include <optional>
#include <string>

namespace troupe {

/// Throws Error unless `count` further file descriptors can be opened in this process. `place` begins the error text,
/// and `purpose` says what needs the descriptors. ZeroMQ ends the process when it gets none, so this is checked before.
void require_descriptors(int count, const std::string& place, const std::string& purpose);

/// Raises the soft limit of file descriptors, within the hard limit, if few are left. ZeroMQ ends the process when a
/// connection over a Unix socket arrives and no file descriptor is left for it. Returns a line about the limit if it
/// was raised or cannot be raised.
std::optional<std::string> keep_descriptors();

}  // namespace troupe
