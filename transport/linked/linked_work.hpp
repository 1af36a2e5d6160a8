#pragma once

#include "troupe/transport/linked/chunks.hpp"
#include "troupe/transport/linked/numbered_work.hpp"

namespace troupe::linked {

/// What one kind of collective sends and does. A part is all that one rank sends to another in a phase; it is cut in
/// chunks that all ranks know of.
struct Steps {
  /// The part for a rank in phase `inputs`, and the elements of the one from a rank.
  std::function<Tensor(int to)> input_for;
  std::function<std::int64_t(int from)> elements_from;
  /// When a chunk has come from every rank that sends it: elements [first, first + count) of their parts.
  std::function<void(const Slice& chunk, const Inputs& inputs)> combine;
  /// The part for all in phase `results`, of which a chunk is sent as soon as it was combined, and where that of a rank
  /// goes. None: there is no such phase.
  std::function<Tensor()> result;
  std::function<Tensor(int from)> place_for;
};

/// A collective in which every rank sends to every other.
class LinkedWork final : public NumberedWork {
 public:
  LinkedWork(std::shared_ptr<RankState> state, const CallSignature& signature, Steps steps);
  std::string waits_for(std::size_t local) const override;

 private:
  enum class Waiting { nothing, for_input, for_result, for_reader };

  void begin_steps() override;
  bool advance_steps() override;
  void release() override { steps_ = {}; }
  void send_inputs();
  bool combine_chunks();
  void combine(const Slice& chunk, const Inputs& chunk_inputs);
  bool take_results();
  void wait_for(int rank, Waiting why);

  Steps steps_;
  std::vector<bool> input_sent_;      // by rank
  std::vector<std::size_t> results_;  // chunks that were taken, by rank
  std::size_t combined_ = 0, chunks_ = 1;
  Waiting waiting_ = Waiting::nothing;
  int waiting_for_ = -1;
};

}  // namespace troupe::linked
