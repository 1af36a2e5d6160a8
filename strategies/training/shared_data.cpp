#include "troupe/strategies/training/shared_data.hpp"

#include "troupe/ops/core/hash.hpp"
#include "troupe/strategies/gathered_numbers.hpp"
#include "troupe/transport/membership/cluster.hpp"

namespace troupe {

namespace {

/// The properties that processes with different samples must have in common.
std::string form_of(const Dataset& data) {
  std::string text = "batches of " + std::to_string(data.batch_rows()) + "\n";
  for (const auto& field : data.fields()) text += "field " + to_string(field) + "\n";
  return text;
}

void agree_on(Cluster& cluster, const std::string& text) {
  Hash hash;
  hash.add(text);
  cluster.agree("data", hash.digest(), [&] { return text; });
}

}  // namespace

Dataset shared_data(const Dataset& data, Cluster& cluster, Communicator& processes, std::chrono::milliseconds limit) {
  const bool own_samples = data.sharding() == DataSharding::file || data.sharding() == DataSharding::off;
  const auto sharing = "sharding " + to_string(own_samples ? data.sharding() : DataSharding::data) + "\n";
  agree_on(cluster, sharing + (own_samples ? form_of(data) : data.content()));
  if (!own_samples) return data;
  return data.in_layout({gathered_numbers(processes, {data.rows()}, limit), processes.rank()});
}

}  // namespace troupe
