#pragma once

#include <vector>

#include "troupe/transport/collective_call.hpp"
#include "troupe/transport/communicator.hpp"

namespace troupe::device {

/// The collective that the ranks of a process are about to do together, in a group of `ranks`. Throws Error that names
/// the rank whose tensors do not fit: to its device, to the collective, or to those of the first rank of the process.
CallSignature check_parts(CollectiveKind kind, Communicator::Parts parts, const std::vector<DeviceRank>& local,
                          int ranks, int root);

}  // namespace troupe::device
