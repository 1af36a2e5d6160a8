// Processes of an MPI job train on data with an unusable sample, and sum their gradients over MPI. They must leave out
// the batch of the sample, all at the same step, and come to the parameters of a training without this batch.

#include <cstdlib>
#include <iostream>

#include "troupe/ops/core/error.hpp"
#include "troupe/strategies/multi_worker_mirrored.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/strategies/training/invalid_samples.hpp"
#include "troupe/transport/membership/cluster.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr std::int64_t kBadRow = 13;

void expect(bool holds, const std::string& what) {
  if (!holds) throw Error("mpi_training", what);
}

/// Trains three epochs on `data`, in each of which `left_out` batches are left out. Returns the hash of the parameters.
std::string train(const std::shared_ptr<Cluster>& cluster, const Dataset& data, std::int64_t left_out) {
  Runtime runtime({.workers = 1, .cpu_devices = cluster->size()});
  const MultiWorkerMirrored strategy(*cluster, cpu_devices(1), {.all_reduce = AllReduceAlgorithm::mpi});
  // The limit of the test ends before the limit of a stall.
  auto trainer = small_trainer(runtime, strategy, {.seed = 3, .stall_limit = 10 * patience(), .cluster = cluster});
  for (int fit = 0; fit < 3; ++fit) {
    const auto result = trainer.fit(data, {.on_invalid_sample = InvalidSamples::skip});
    expect(result.skipped_batches == left_out, "a fit has left out " + std::to_string(result.skipped_batches));
    for (const auto& sample : result.skipped_samples) expect(sample.sample == kBadRow, sample.text);
  }
  return trainer.parameters().hash();
}

}  // namespace

int main() {
  try {
    ClusterOptions options;
    options.job = resolve_job({});
    options.limit = patience();
    const auto cluster = join_cluster(options);
    const auto without = train(cluster, rows_without(batch_of(kBadRow)), 0);
    expect(train(cluster, rows_without({}, {kBadRow}), 1) == without, "the parameters depend on the batch left out");
    cluster->leave();
    if (cluster->rank() == 0) std::cout << "mpi_training: " << cluster->size() << " ranks, all correct" << std::endl;
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
