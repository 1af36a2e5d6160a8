#include "troupe/strategies/training/carried_state.hpp"

#include "troupe/actors/plan/plan.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/nn/sequence.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr std::int64_t kBatchRows = 8;

/// The plan of a model that carries states of kBatchRows rows.
Plan plan_with_states(const Dataset& data) {
  const auto model = [](const Inputs& in) -> Outputs {
    return Lstm{.units = 2, .carried = {.rows = kBatchRows}}(in["x"]);
  };
  const Loss loss([](const Outputs& outputs, const Inputs&) {
    return reduce_sum(outputs[""], std::vector<std::int64_t>{1, 2});
  });
  const TrainingSpec spec{model, loss, Sgd{.lr = 0.1}};
  return OneDevice().training_plan({spec, data, 0, {names::kLoss}});
}

/// The shard of the first of two processes, whose shards have so many rows.
Dataset shard_of(std::int64_t own, std::int64_t other) {
  const Tensor x({own, 3, 2}, DType::float32);
  return Dataset::from_arrays({{"x", x}}).batch(kBatchRows).shard(DataSharding::file).in_layout({{own, other}, 0});
}

}  // namespace

TEST_CASE("the batches of all processes together have the rows of a carried state") {
  const Tensor x({kBatchRows, 3, 2}, DType::float32);
  const auto plan = plan_with_states(Dataset::from_arrays({{"x", x}}).batch(kBatchRows));
  CHECK_NOTHROW(check_carried_states(plan, shard_of(52, 52)));
  CHECK_THROWS_WITH(check_carried_states(plan, shard_of(48, 40)), Contains("has a last batch of 4 rows"));
  CHECK_THROWS_WITH(check_carried_states(plan, shard_of(50, 50)), Contains("has a last batch of 4 rows"));
}
