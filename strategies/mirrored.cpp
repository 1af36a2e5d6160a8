#include "troupe/strategies/mirrored.hpp"

#include "troupe/actors/plan/conductor.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/reshape.hpp"

namespace troupe {

namespace {

/// Neighbouring gradients that fit into a bucket; one that is larger has a bucket of its own.
std::vector<std::vector<Value>> fill_buckets(std::span<const Value> gradients, const MirroredOptions& options) {
  std::vector<std::vector<Value>> buckets;
  std::int64_t filled = 0;
  for (const auto& gradient : gradients) {
    const auto bytes = gradient.shape().elements() * static_cast<std::int64_t>(sizeof(float));
    const auto limit = buckets.size() == 1 ? options.first_bucket_bytes : options.bucket_bytes;
    if (buckets.empty() || filled + bytes > limit) {
      buckets.emplace_back();
      filled = 0;
    }
    buckets.back().push_back(gradient);
    filled += bytes;
  }
  return buckets;
}

std::vector<Value> reduce_in_buckets(std::span<const Value> gradients, const MirroredOptions& options) {
  std::vector<Value> reduced;
  for (const auto& bucket : fill_buckets(gradients, options)) {
    std::vector<TensorInfo> infos;
    for (const auto& gradient : bucket) infos.push_back(gradient.info());
    const auto offsets = pack_offsets(infos);
    const auto sum = all_reduce(pack(bucket));
    for (std::size_t i = 0; i < bucket.size(); ++i) reduced.push_back(slice(sum, offsets[i], infos[i].shape));
  }
  return reduced;
}

}  // namespace

Mirrored::Mirrored(std::vector<Place> places, MirroredOptions options)
    : Strategy(std::move(places)), options_(options) {
  if (options_.first_bucket_bytes < 1 || options_.bucket_bytes < 1)
    throw Error("mirrored", "a bucket needs at least one byte");
}

Plan Mirrored::training_plan(const PlanRequest& request) const {
  auto plan = empty_plan(request);
  const auto graph = training_graph(request.spec, request.data.fields(),
                                    [&](auto gradients) { return reduce_in_buckets(gradients, options_); });
  Conductor conductor(plan, "gradients", places());
  for (int replica = 0; replica < num_replicas_in_sync(); ++replica) {
    int index = 0;
    add_replica(plan, request, graph, replica, [&](Plan&, const Node& node) {
      return conductor.add_all_reduce(index++, replica, graph.info(node.outputs[0]));
    });
  }
  conductor.finish();
  return plan;
}

}  // namespace troupe
