#pragma once

#include <chrono>

#include "troupe/transport/communicator.hpp"

namespace troupe::bench {

/// Runs every collective of a group of devices, for all dtypes and for odd sizes, and compares the results with results
/// computed by hand. All processes of the group call it. Returns the number of collectives. Throws Error that names the
/// first wrong collective, or the first that does not complete within the limit.
int check_collectives(Communicator& group, std::chrono::milliseconds limit);

}  // namespace troupe::bench
