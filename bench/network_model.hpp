#pragma once

#include "troupe/bench/collective_schedule.hpp"

namespace troupe::bench {

/// What a cluster is taken to cost. Seconds, and bytes per second; 0 for a rate: it takes no time.
struct ClusterCosts {
  /// Between machines: from the first byte that leaves to the first that arrives.
  double latency = 0;
  /// Of the port of a machine, each way, shared by its ranks.
  double bandwidth = 0;
  /// Between ranks of a machine. Small payloads are copied at this bandwidth; large ones are read by the processor of
  /// the receiver, at this bandwidth too, in the memory of the sender, which is told when that is done.
  double inside_latency = 0;
  double inside_bandwidth = 0;
  /// Of a rank's processor, for each message that it sends or receives.
  double message_cost = 0;
  /// At which a processor adds or copies.
  double sum_rate = 0;
  /// Rank r is on machine r / ranks_per_machine.
  int ranks_per_machine = 1;
  /// How many processors the ranks of a machine share; 0: each has its own.
  int shared_cores = 0;
  /// What all processors of a machine together read, copy and add; 0: as much as each of them can.
  double memory_bandwidth = 0;
};

struct Prediction {
  double seconds = 0;         ///< from the start, the same on all ranks, until the last one is done
  std::int64_t messages = 0;  ///< of the schedule
};

/// Replays the schedule of a collective message by message. A rank's processor does one thing after the other: it takes
/// in all that has come, then advances, as RankState and the works do. A port sends pieces of 64 KiB, its connections
/// by turns, and receives one piece after the other. Windows, losses and congestion are not modelled. Throws Error for
/// costs that are negative, and if the ranks wait for each other for ever.
Prediction predict(const Collective& collective, const ClusterCosts& costs);

}  // namespace troupe::bench
