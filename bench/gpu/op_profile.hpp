#pragma once

#include <string>
#include <vector>

#include "troupe/bench/gpu/training_case.hpp"

namespace troupe::bench {

/// The kernels of one kind in a training step. An op counts as a kind of its own for every dtype of its result.
struct OpKindTime {
  std::string kind;      ///< `matmul bfloat16`
  int calls = 0;         ///< in a step
  double seconds = 0.0;  ///< of all of them
  double bytes = 0.0;    ///< of their operands: every input read once, every output written once
  double flop = 0.0;     ///< of products; 0 for ops that do few for each element

  double gigabytes_per_second() const { return seconds > 0 ? 1e-9 * bytes / seconds : 0.0; }
  double teraflop_per_second() const { return seconds > 0 ? 1e-12 * flop / seconds : 0.0; }
  OpKindTime& operator+=(const OpKindTime& other);
};

struct OpProfile {
  std::vector<OpKindTime> kinds;  ///< the longest first
  double memory_bytes = 0.0;      ///< of inner values, outputs of the model and scratch memory

  /// The sum of the kinds of these ops; no names: of all.
  OpKindTime sum_of(const std::vector<std::string>& ops) const;
};

/// Runs the training step of one replica op by op on one stream, `repetitions` times after a first one, and takes the
/// median of each kernel's time: by the device's clock, or the host's on devices of the host. What would be captured
/// runs one kernel after the other here.
OpProfile profile_ops(const TrainingCase& measured, Device device, int repetitions);

/// One line a kind: ms, share, calls, GB, GB/s, GFLOP, TFLOP/s.
void print(const OpProfile& profile);

}  // namespace troupe::bench
