#pragma once

#include "troupe/transport/linked/chunks.hpp"
#include "troupe/transport/linked/rank_state.hpp"
#include "troupe/transport/work.hpp"

namespace troupe::linked {

/// The messages and computations of one rank in a collective. A collective has the phase `inputs`, in which ranks send
/// elements of their inputs, and perhaps the phase `results`, in which they send elements that they have computed. A
/// part is all that one rank sends to another in a phase. A part is cut into chunks; sender and receiver compute the
/// same chunks from the number of its elements.
struct Steps {
  /// Two functions for phase `inputs`. input_for() returns the part that this rank sends to rank `to`. elements_from()
  /// returns the number of elements of the part from rank `from`, which may be this rank itself.
  std::function<Tensor(int to)> input_for;
  std::function<std::int64_t(int from)> elements_from;
  /// Called for each chunk of phase `inputs`, in order, once the chunk has come from every other rank that sends it.
  /// `chunk` is the range of the chunk in the parts, `inputs` has its payloads. Empty if the payloads are not used.
  std::function<void(const Slice& chunk, const Inputs& inputs)> combine;
  /// Returns the tensor for the part that rank `from` sends to all ranks in phase `results`: this rank sends the tensor
  /// if it is rank `from`, and else receives into it. A chunk of this rank's part is sent as soon as combine() has
  /// returned for it. Empty if the collective has no phase `results`.
  std::function<Tensor(int from)> result_of;
};

/// Begins a collective in which every rank sends a part, which may be empty, to every other rank. Throws Aborted if
/// another rank is known to have begun another collective with the same number or to have left before this number, or
/// if the group was given up, which means that RankState::abort() has ended it.
std::shared_ptr<Work> begin_linked(std::shared_ptr<RankState> state, const CallSignature& signature, Steps steps);

/// Begins an all_reduce in which slices go round the ring of N ranks: in step s, from 0 on, rank r sends slice r - s to
/// rank r + 1, and takes slice r - s - 1 from rank r - 1, all modulo N. In the first N - 1 steps a rank adds its own
/// elements to the slice that it takes; in the last N - 1 steps it copies the slice, which then is the sum of all
/// ranks. So slice i is ((r_i + r_{i+1}) + r_{i+2}) + ..., indices modulo N, on all ranks. Throws Aborted like
/// begin_linked(). Source: P. Patarasuk, X. Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations,
/// 2009.
std::shared_ptr<Work> begin_ring(std::shared_ptr<RankState> state, const CallSignature& signature, Tensor tensor);

}  // namespace troupe::linked
