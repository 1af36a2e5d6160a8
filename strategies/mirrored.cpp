#include "troupe/strategies/mirrored.hpp"

#include <algorithm>
#include <functional>

#include "troupe/actors/plan/conductor.hpp"
#include "troupe/actors/plan/plan.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/fused/finite.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/ops/passes/uses.hpp"
#include "troupe/strategies/step/hook_site.hpp"
#include "troupe/strategies/step/step_decision.hpp"
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

/// Sums gradients over the replicas of a Mirrored strategy; see ReduceGradients.
class Reducer {
 public:
  Reducer(const MirroredOptions& options, std::int64_t replicas, const TrainingSpec& spec)
      : options_(options),
        spec_(spec),
        replicas_(replicas),
        check_finite_(spec.check_finite),
        bound_(bound_of_magnitude(spec.optimizer, static_cast<double>(replicas))) {}

  ReducedGradients operator()(Value loss_check, std::span<const Value> gradients) {
    return options_.hook ? with_hook(loss_check, gradients) : in_buckets(loss_check, gradients);
  }
  /// The states of the hook, with their next values.
  const GradientHook::NextStates& next_states() const { return next_states_; }

 private:
  /// The names of the trained parameters in the order in which nodes of the graph first read them. The order of the
  /// gradients depends on it: models that declare the same parameters and apply them in another order differ.
  std::vector<std::string> names_of_trained(const Graph& graph) const {
    auto trained = trained_parameters(graph, spec_.optimizer);
    const Uses uses(graph);
    std::ranges::stable_sort(trained, {}, [&](ValueId id) { return uses.readers_of(id).front(); });
    std::vector<std::string> names;
    for (const auto id : trained) names.push_back(graph.producer(id).name);
    return names;
  }

  Value largest(std::span<const Value> values) const { return largest_magnitude(values, bound_); }

  /// Sums the gradients of the replicas by the hook, in buckets. The magnitude is the largest one of these sums and of
  /// the sum of the magnitudes of the replicas: a hook may overflow where float32 sums do not. With atomic_steps, all
  /// values are behind a barrier.
  ReducedGradients with_hook(Value loss_check, std::span<const Value> gradients) {
    std::vector<Value> reduced{loss_check};
    const auto parameters = names_of_trained(loss_check.builder().graph());
    const auto buckets = fill_buckets(gradients, options_);
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      GraphBuilder::Scope scope(loss_check.builder(), "hook/" + std::to_string(i));
      const auto name = name_of_hook_site(spec_, *options_.hook, parameters, reduced.size() - 1, buckets[i]);
      const auto sums = options_.hook->sum(buckets[i], {name, next_states_, replicas_});
      reduced.insert(reduced.end(), sums.begin(), sums.end());
    }
    std::vector<Value> own{loss_check};
    own.insert(own.end(), gradients.begin(), gradients.end());
    // The all_reduce works in place, and the sink reads the loss check.
    reduced.front() = all_reduce(check_finite_ ? largest(own) : at_least(loss_check, 1.0));
    if (check_finite_) reduced.front() = largest_magnitude(reduced);
    if (options_.atomic_steps) reduced = behind_barrier(reduced, reduced);
    return {reduced.front(), {}, {reduced.begin() + 1, reduced.end()}};
  }

  /// Sums the gradients of the replicas in buckets. Every bucket carries the largest magnitude so far, or the loss
  /// check if gradients are not checked. The magnitude is computed before the bucket is packed, while the gradients are
  /// in the cache.
  ReducedGradients in_buckets(Value loss_check, std::span<const Value> gradients) const {
    auto own = loss_check, sum = loss_check;
    std::vector<Value> reduced, sums;
    for (auto& bucket : fill_buckets(gradients, options_)) {
      bucket.push_back(own);
      if (check_finite_) bucket.back() = own = largest(bucket);
      sums.push_back(all_reduce(pack(bucket)));
      auto of_bucket = unpacked(sums.back(), bucket);
      sum = of_bucket.back();
      of_bucket.pop_back();
      reduced.insert(reduced.end(), of_bucket.begin(), of_bucket.end());
    }
    if (!options_.atomic_steps) return {sum, own, reduced};
    reduced.insert(reduced.begin(), sum);
    const auto committed = behind_barrier(reduced, sums);
    return {committed.front(), own, {committed.begin() + 1, committed.end()}};
  }

  const MirroredOptions& options_;
  const TrainingSpec& spec_;
  const std::int64_t replicas_;
  const bool check_finite_;
  const double bound_;  // largest magnitude of a replica
  GradientHook::NextStates next_states_;
};

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
    const auto alone = training_graph(request.spec, request.data.fields(), unreduced(request.spec));
    add_replica(plan, request, without_all_reduce(alone), replica_at(0));
    return plan;
  }
  Reducer reducer(options_, num_replicas_in_sync(), request.spec);
  const auto graph = training_graph(request.spec, request.data.fields(), std::ref(reducer), num_replicas_in_sync(),
                                    &reducer.next_states());
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
