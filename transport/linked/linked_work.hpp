#pragma once

#include "troupe/transport/linked/chunks.hpp"
#include "troupe/transport/linked/rank_state.hpp"
#include "troupe/transport/work.hpp"

namespace troupe::linked {

/// The messages and computations of one kind of collective. A part is all that one rank sends to another in a phase; it
/// is cut in chunks that all ranks know of.
struct Steps {
  /// The part for a rank in phase `inputs`, and the elements of the one from a rank.
  std::function<Tensor(int to)> input_for;
  std::function<std::int64_t(int from)> elements_from;
  /// When a chunk has come from every rank that sends it: elements [first, first + count) of their parts.
  std::function<void(const Slice& chunk, const Inputs& inputs)> combine;
  /// The place of the part that a rank sends to all in phase `results`: a chunk of this rank's own is sent as soon as
  /// it was combined. None: there is no such phase.
  std::function<Tensor(int from)> result_of;
};

/// Begins a collective in which every rank sends to every other. Throws Aborted if the ranks are known not to agree.
std::shared_ptr<Work> begin_linked(std::shared_ptr<RankState> state, const CallSignature& signature, Steps steps);

/// Begins an all-reduce in which slices go round the ring of ranks: in step s rank r sends slice r - s to rank r + 1,
/// and takes slice r - s - 1 from rank r - 1, all modulo N. In the first N - 1 steps it adds its own elements to what
/// it takes, after that it takes the sums. So slice i is ((r_i + r_{i+1}) + r_{i+2}) + ..., indices modulo N, on all
/// ranks. Throws Aborted if the ranks are known not to agree. Source: P. Patarasuk, X. Yuan, Bandwidth optimal
/// all-reduce algorithms for clusters of workstations, 2009.
std::shared_ptr<Work> begin_ring(std::shared_ptr<RankState> state, const CallSignature& signature, Tensor tensor);

}  // namespace troupe::linked
