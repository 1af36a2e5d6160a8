#pragma once

#include "troupe/bench/collective_schedule.hpp"
#include "troupe/transport/linked/chunks.hpp"
#include "troupe/transport/linked/rank_state.hpp"

namespace troupe::bench {

/// The ranks that take part in a collective: `ranks` ranks, `stride` apart, from `first` on.
struct Members {
  int first = 0, ranks = 1, stride = 1;
  std::uint8_t stage = 0;
  bool check = false;  ///< see Message::check
};

/// The sizes of linked::Steps, in elements of float32.
struct PartSizes {
  std::function<std::int64_t(int to)> input_for;
  std::function<std::int64_t(int from)> elements_from;
  /// The size that a rank sends to all in phase `results`. Empty: there is no such phase.
  std::function<std::int64_t(int from)> result_of = {};
  /// Whether this rank adds its own elements to the arriving ones.
  bool sums = true;
};

/// The part sizes of an all-reduce without a ring, and of a broadcast from rank 0.
PartSizes all_reduce_sizes(std::int64_t elements, int ranks, int rank);
PartSizes broadcast_sizes(std::int64_t elements, int rank);
/// The part sizes of the all-gather by which the ranks of a hierarchy compare their collectives.
PartSizes check_sizes();

/// Replays a collective of linked::begin_linked. Ranks are indices among the members.
class LinkedProgram final : public RankProgram {
 public:
  LinkedProgram(const Members& members, int rank, PartSizes sizes);

  void begin(RankActions& actions) override;
  void take(const Message& message) override;
  bool advance(RankActions& actions) override;

 private:
  void send_result(RankActions& actions, std::int64_t elements) const;
  void send_part(RankActions& actions, int to, linked::Phase phase, std::int64_t elements) const;
  void send_inputs(RankActions& actions);
  void combine_chunks(RankActions& actions);
  void combine(RankActions& actions);
  void take_results(RankActions& actions);
  Message message(int to, linked::Phase phase, std::int64_t elements) const;
  int member(int global_rank) const { return (global_rank - members_.first) / members_.stride; }

  const Members members_;
  const int rank_;
  const PartSizes sizes_;
  std::vector<bool> ready_, input_sent_;  // by rank
  std::vector<int> unsent_;               // ranks that have become ready, or whose parts are small
  std::vector<std::size_t> inputs_from_;  // arrived chunks, by rank
  std::vector<int> senders_, arrived_;    // by chunk: how many ranks send it, and how many of them have arrived
  std::vector<Message> results_;          // arrived and not yet taken
  std::size_t combined_ = 0, results_missing_ = 0;
};

/// Replays linked::begin_ring.
class RingProgram final : public RankProgram {
 public:
  RingProgram(int ranks, int rank, std::int64_t elements);

  void begin(RankActions& actions) override;
  void take(const Message& message) override;
  bool advance(RankActions& actions) override;

 private:
  std::int64_t slice(int step_back) const;
  void send(RankActions& actions, std::int64_t elements) const;
  void send_first(RankActions& actions);
  void take_chunk(RankActions& actions, const Message& message);

  const int ranks_, rank_, steps_, next_, previous_;
  const std::int64_t elements_;
  std::vector<Message> arrived_;
  bool ready_ = false, first_sent_ = false;
  int step_ = 0;
  std::size_t chunk_ = 0;
};

}  // namespace troupe::bench
