#pragma once

#include "troupe/transport/linked/linked_work.hpp"

namespace troupe::linked {

/// output[i] = ((r0[i] + r1[i]) + r2[i]) + ... over what all ranks have sent, `own` being the share of rank `rank`. The
/// output may be `own`.
void sum(const Inputs& inputs, int rank, const Tensor& own, const Tensor& output);

/// All of what has come, in its place.
void read(const IncomingPayload& from, const Tensor& to);
void copy(const Tensor& from, const Tensor& to);

}  // namespace troupe::linked
