#pragma once

#include <vector>

#include "troupe/transport/collective_call.hpp"
#include "troupe/transport/communicator.hpp"

namespace troupe::device {

/// Returns the signature (kind, dtype, number of elements, root) of a collective that the ranks `local` of this process
/// begin with `parts`, in a group of `ranks` ranks. Throws Error if the group has no rank `root`, if the kind is a
/// barrier or would sum uint8, if there are more or fewer parts than local ranks, if a tensor is missing, is on another
/// device than its rank or has a size that does not fit the kind, or if the parts differ in dtype or size.
CallSignature check_parts(CollectiveKind kind, Communicator::Parts parts, const std::vector<DeviceRank>& local,
                          int ranks, int root);

}  // namespace troupe::device
