#pragma once

#include <chrono>

#include "troupe/transport/communicator.hpp"

namespace troupe::bench {

/// Does every collective of a group of devices, for all dtypes and sizes that are odd, and compares what comes out with
/// what is computed by hand. All processes of the group call it. Returns how many collectives there were; throws Error
/// that names the first that is wrong, or is not done within the limit.
int check_collectives(Communicator& group, std::chrono::milliseconds limit);

}  // namespace troupe::bench
