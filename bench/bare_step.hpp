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

/// Waits for all threads, spinning: what the fastest hand-written loop would do on dedicated cores.
class SpinBarrier {
 public:
  explicit SpinBarrier(int threads) : threads_(threads) {}
  void wait();

 private:
  int threads_;
  std::atomic<int> arrived_{0};
  std::atomic<int> round_{0};
};

/// The training step as a loop over kernels, without actors: gather and normalisation of the batch, forward, loss,
/// backward, update. One thread a replica; with two or more they share the parameters, and after a barrier each reduces
/// and applies its part of every gradient.
class BareStep {
 public:
  BareStep(const TrainingSpec& spec, const Dataset& data, int replicas, double learning_rate);
  ~BareStep();

  /// Runs this number of steps, from the beginning of an epoch on; returns samples per second.
  double run(std::int64_t steps);
  /// As above, but only the matrix products and convolutions, without any synchronisation.
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
