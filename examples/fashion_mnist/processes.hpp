#pragma once

#include <memory>

#include "troupe/examples/fashion_mnist/flags.hpp"
#include "troupe/ops/data/dataset.hpp"
#include "troupe/transport/membership/cluster.hpp"

namespace troupe::examples {

/// Connects to the other processes of the job that a launcher or the flags name, and prints which of them named it.
/// Null if the strategy needs no processes. Sets the flags that follow from the job.
std::shared_ptr<Cluster> meet_processes(Flags& flags);

/// The training data of this process, shared among the processes as the flags say, in batches.
Dataset training_data(const Flags& flags, const Cluster* cluster);
/// Reads the test data.
Dataset evaluation_data(const Flags& flags);
/// The data of this process as one shard of the data of all processes.
Dataset in_shards(const Dataset& data, const Cluster* cluster);

/// FILE, or FILE.RANK if there are several processes.
std::filesystem::path path_of_rank(const std::filesystem::path& path, const Cluster* cluster);

}  // namespace troupe::examples
