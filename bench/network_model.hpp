#pragma once

#include "troupe/bench/collective_schedule.hpp"

namespace troupe::bench {

/// The costs of a cluster in seconds and in bytes per second. A rate of 0 takes no time.
struct ClusterCosts {
  /// Between machines, from the first byte that leaves to the first that arrives.
  double latency = 0;
  /// The bandwidth of a machine's port in each direction, which its ranks share.
  double bandwidth = 0;
  /// The latency and bandwidth between ranks of a machine. Small payloads are copied at this bandwidth. Large payloads
  /// are read, also at this bandwidth, by the processor of the receiver in the memory of the sender, which is notified
  /// at the end.
  double inside_latency = 0;
  double inside_bandwidth = 0;
  /// The time of a rank's processor for each message that it sends or receives.
  double message_cost = 0;
  /// The rate at which a processor adds or copies.
  double sum_rate = 0;
  /// Rank r is on machine r / ranks_per_machine.
  int ranks_per_machine = 1;
  /// The number of processors that the ranks of a machine share; 0: each rank has its own.
  int shared_cores = 0;
  /// The rate at which all processors of a machine together read, copy and add; 0: no limit beyond that of each
  /// processor.
  double memory_bandwidth = 0;
};

/// The predicted time of a collective.
struct Prediction {
  double seconds = 0;         ///< from the start, which is the same on all ranks, until the last rank is done
  std::int64_t messages = 0;  ///< messages of the schedule
};

/// Replays the schedule of a collective message by message. A rank's processor does one thing after the other: it takes
/// all arrived messages, then advances, like RankState and the works. A port sends pieces of 64 KiB of its connections,
/// round-robin, and receives one piece after the other. Windows, losses and congestion are not modeled. Throws Error if
/// costs are negative, or if the ranks wait for each other forever.
Prediction predict(const Collective& collective, const ClusterCosts& costs);

}  // namespace troupe::bench
