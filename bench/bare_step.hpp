#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "troupe/ops/data/dataset.hpp"
#include "troupe/ops/graph/program.hpp"
#include "troupe/strategies/step/training_graph.hpp"

namespace troupe::bench {

/// Waits for all threads by spinning, as the fastest hand-written loop would on dedicated cores.
class SpinBarrier {
 public:
  explicit SpinBarrier(int threads) : threads_(threads) {}
  void wait();

 private:
  int threads_;
  std::atomic<int> arrived_{0};
  std::atomic<int> round_{0};
};

/// The training step as a loop over kernels, without actors: gather and normalization of the batch, forward, loss,
/// backward, update. Each replica has one thread. Several replicas share the parameters: after a barrier, each reduces
/// and applies its part of every gradient.
class BareStep {
 public:
  BareStep(const TrainingSpec& spec, const Dataset& data, int replicas, double learning_rate);
  ~BareStep();

  /// Runs this many steps from the beginning of an epoch. Returns samples per second.
  double run(std::int64_t steps);
  /// Runs only the matrix products and convolutions of this many steps, without any synchronization. Returns samples
  /// per second.
  double run_products(std::int64_t steps);

 private:
  struct Replica;
  double run_threads(std::int64_t steps, bool products_only);
  void work(Replica& replica, std::int64_t steps, bool products_only);

  const Dataset& data_;
  std::vector<std::size_t> field_numbers_;
  std::int64_t epoch_ = 0;
  std::vector<std::unique_ptr<Replica>> replicas_;
  SpinBarrier barrier_;
};

}  // namespace troupe::bench
