#pragma once

#include <memory>

#include "troupe/examples/fashion_mnist/flags.hpp"
#include "troupe/ops/data/dataset.hpp"
#include "troupe/transport/membership/cluster.hpp"

namespace troupe::examples {

/// Meets the other processes of the job that a launcher or the flags name, and says who won; null if the strategy needs
/// none. Sets the flags that follow from the job.
std::shared_ptr<Cluster> meet_processes(Flags& flags);

/// The training data as the flags say that the processes share them, in batches.
Dataset training_data(const Flags& flags, const Cluster* cluster);
/// Those as one shard of all that the processes train on.
Dataset in_shards(const Dataset& data, const Cluster* cluster);

/// FILE, or FILE.RANK if there are several processes.
std::filesystem::path path_of_rank(const std::filesystem::path& path, const Cluster* cluster);

}  // namespace troupe::examples
