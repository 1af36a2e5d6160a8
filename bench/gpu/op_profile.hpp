#pragma once

#include <string>
#include <vector>

#include "troupe/bench/gpu/training_case.hpp"

namespace troupe::bench {

/// The kernels of one kind in a training step. A kind is an op with one dtype of its result.
struct OpKindTime {
  std::string kind;      ///< `matmul bfloat16`
  int calls = 0;         ///< in a step
  double seconds = 0.0;  ///< sum over all calls
  double bytes = 0.0;    ///< bytes in the operands: every input read once, every output written once
  double flop = 0.0;     ///< operations of products; 0 for ops with few operations for each element

  double gigabytes_per_second() const { return seconds > 0 ? 1e-9 * bytes / seconds : 0.0; }
  double teraflop_per_second() const { return seconds > 0 ? 1e-12 * flop / seconds : 0.0; }
  OpKindTime& operator+=(const OpKindTime& other);
};

/// The time of a model's step by kinds of ops, and its memory.
struct OpProfile {
  std::vector<OpKindTime> kinds;  ///< the longest first
  double memory_bytes = 0.0;      ///< intermediate values, outputs of the model and scratch memory

  /// The sum over the kinds of these ops, or over all kinds if no name is given.
  OpKindTime sum_of(const std::vector<std::string>& ops) const;
};

/// Runs the training step of one replica op by op on one stream, `repetitions` times after a first run. Takes the
/// median of each kernel's time, by the clock of the device, or of the host for devices of the host. Work that would be
/// captured runs one kernel after the other.
OpProfile profile_ops(const TrainingCase& measured, Device device, int repetitions);

/// Prints one line for each kind: ms, fraction, calls, GB, GB/s, GFLOP, TFLOP/s.
void print(const OpProfile& profile);

}  // namespace troupe::bench
