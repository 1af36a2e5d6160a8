#include "troupe/strategies/mirrored.hpp"

#include "troupe/actors/plan/conductor.hpp"
#include "troupe/actors/plan/plan.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/fused/finite.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/transport/collective_kind.hpp"

namespace troupe {

namespace {

/// Groups neighboring values into buckets. A value larger than the largest size of a bucket gets a bucket of its own.
std::vector<std::vector<Value>> fill_buckets(std::span<const Value> values, const MirroredOptions& options) {
  std::vector<std::vector<Value>> buckets;
  std::int64_t filled = 0;
  for (const auto& value : values) {
    const auto bytes = value.shape().elements() * static_cast<std::int64_t>(sizeof(float));
    const auto limit = buckets.size() == 1 ? options.first_bucket_bytes : options.bucket_bytes;
    if (buckets.empty() || filled + bytes > limit) {
      buckets.emplace_back();
      filled = 0;
    }
    buckets.back().push_back(value);
    filled += bytes;
  }
  return buckets;
}

/// Returns the values of `reduced` behind a barrier: no rank gets them before every rank has all of `sums`. The barrier
/// is an all_reduce of one number that depends on all of `sums`.
std::vector<Value> behind_barrier(const std::vector<Value>& reduced, const std::vector<Value>& sums) {
  auto arrived = sums[0].builder().constant(Tensor(Shape{1}, DType::float32));
  for (const auto& sum : sums) arrived = control_dependency(arrived, sum);
  const auto all_arrived = all_reduce(arrived);
  std::vector<Value> committed;
  for (const auto& value : reduced) committed.push_back(control_dependency(value, all_arrived));
  return committed;
}

/// Sums the gradients of the replicas by the hook, in buckets. The first value of the result is the largest magnitude
/// of these sums and of the sum of the magnitudes of the replicas: a hook may overflow where float32 sums do not. With
/// atomic_steps, all values are behind a barrier. The hook adds its states to `next_states`. Without `check_finite` the
/// first value stays 0.
std::vector<Value> reduce_with_hook(std::span<const Value> values, const MirroredOptions& options,
                                    std::int64_t replicas, bool check_finite, GradientHook::NextStates& next_states) {
  std::vector<Value> reduced{values[0]};
  const auto buckets = fill_buckets(values.subspan(1), options);
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const auto name = "hook/" + std::to_string(i);
    GraphBuilder::Scope scope(values[0].builder(), name);
    const auto sums = options.hook->sum(buckets[i], {name, next_states, replicas});
    reduced.insert(reduced.end(), sums.begin(), sums.end());
  }
  if (check_finite) {
    reduced.front() = all_reduce(largest_magnitude(values));
    reduced.front() = largest_magnitude(reduced);
  }
  return options.atomic_steps ? behind_barrier(reduced, reduced) : reduced;
}

/// Sums the values of the replicas in buckets; see ReduceGradients. Every bucket carries the largest magnitude of the
/// values so far. It is computed before the bucket is packed, while the gradients are in the cache. Without
/// `check_finite` no bucket carries one, and the first value stays 0.
std::vector<Value> reduce_in_buckets(std::span<const Value> values, const MirroredOptions& options, bool check_finite) {
  auto magnitude = values.front();
  std::vector<Value> reduced{magnitude}, sums;
  for (auto& bucket : fill_buckets(values.subspan(1), options)) {
    if (check_finite) {
      bucket.push_back(magnitude);
      bucket.back() = magnitude = largest_magnitude(bucket);
    }
    sums.push_back(all_reduce(pack(bucket)));
    auto of_bucket = unpacked(sums.back(), bucket);
    if (check_finite) {
      reduced.front() = of_bucket.back();
      of_bucket.pop_back();
    }
    reduced.insert(reduced.end(), of_bucket.begin(), of_bucket.end());
  }
  return options.atomic_steps ? behind_barrier(reduced, sums) : reduced;
}

}  // namespace

Mirrored::Mirrored(std::vector<Place> places, MirroredOptions options)
    : Strategy(std::move(places)), options_(std::move(options)) {
  if (options_.first_bucket_bytes < 1 || options_.bucket_bytes < 1)
    throw Error("mirrored", "a bucket needs at least one byte");
}

Plan Mirrored::training_plan(const PlanRequest& request) const {
  auto plan = empty_plan(request, num_replicas_in_sync());
  // A single replica without a hook has nothing to sum, so its plan has no collectives.
  if (num_replicas_in_sync() == 1 && options_.hook == nullptr) {
    const auto alone = training_graph(request.spec, request.data.fields(), unreduced);
    add_replica(plan, request, without_all_reduce(alone), replica_at(0));
    return plan;
  }
  GradientHook::NextStates next_states;
  const auto reduce = [&](std::span<const Value> values) {
    const bool check = request.spec.check_finite;
    return options_.hook ? reduce_with_hook(values, options_, num_replicas_in_sync(), check, next_states)
                         : reduce_in_buckets(values, options_, check);
  };
  const auto graph = training_graph(request.spec, request.data.fields(), reduce, num_replicas_in_sync(), &next_states);
  Conductor conductor(plan, "gradients", places(), options_.all_reduce);
  for (int replica = 0; replica < num_replicas_in_sync(); ++replica) {
    int index = 0;
    add_replica(plan, request, graph, replica_at(replica), [&](Plan&, const Node& node) {
      return conductor.add(collective_kind_of(node.op->name), index++, replica, graph.info(node.outputs[0]));
    });
  }
  conductor.finish();
  return plan;
}

}  // namespace troupe
