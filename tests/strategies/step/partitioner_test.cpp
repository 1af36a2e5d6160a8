#include "troupe/strategies/step/partitioner.hpp"

#include "troupe/strategies/local_sgd.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

TensorInfo floats(const Shape& shape) {
  return {shape, DType::float32};
}

std::vector<std::int64_t> counts(std::int64_t rows, std::int64_t shards) {
  std::vector<std::int64_t> counts;
  std::int64_t next = 0;
  for (const auto& range : split_rows(rows, shards)) {
    CHECK(range.first == next);
    next = range.end();
    counts.push_back(range.count);
  }
  CHECK(next == rows);
  return counts;
}

ParameterServer with_sharding(int workers, int servers, const Sharding& sharding) {
  return {places_of(cpu_devices(workers)),
          places_of(cpu_devices(servers)),
          ConsistencyRule::synchronous(workers),
          {.sharding = sharding}};
}

std::string hash_of(Runtime& runtime, const Strategy& strategy, const Optimizer& optimizer) {
  auto trainer = small_trainer(runtime, strategy, {.seed = 3}, optimizer);
  trainer.fit(data_of_50(), {.epochs = 2});
  return trainer.parameters().hash(0);
}

}  // namespace

// Sizes and numbers as tf.distribute.experimental.partitioners gives them.
TEST_CASE("rows are split into sizes that differ by one at most") {
  CHECK(counts(13, 5) == std::vector<std::int64_t>{3, 3, 3, 2, 2});
  CHECK(counts(10, 2) == std::vector<std::int64_t>{5, 5});
  CHECK(counts(3, 3) == std::vector<std::int64_t>{1, 1, 1});
  CHECK(counts(7, 1) == std::vector<std::int64_t>{7});
}

TEST_CASE("a partitioner says how many shards a parameter has") {
  CHECK(fixed_shards(4).shards_of(floats({10, 3})) == 4);
  CHECK(fixed_shards(4).shards_of(floats({3})) == 3);
  CHECK(fixed_shards(4).shards_of(floats({})) == 1);
  CHECK(min_shard_size(4, 2).shards_of(floats({6, 1})) == 2);
  CHECK(min_shard_size(4, 10).shards_of(floats({6, 1})) == 6);
  CHECK(min_shard_size(256 << 10, 8).shards_of(floats({1000, 100})) == 2);
  CHECK(min_shard_size(1 << 20, 8).shards_of(floats({10, 10})) == 1);
  CHECK(max_shard_size(4).shards_of(floats({6, 1})) == 6);
  CHECK(max_shard_size(4, 2).shards_of(floats({6, 1})) == 2);
  CHECK(max_shard_size(1024).shards_of(floats({6, 1})) == 1);
  CHECK(max_shard_size(40).shards_of(floats({7, 4})) == 4);
  CHECK(max_shard_size(1).shards_of(floats({7, 4})) == 7);
  CHECK(partitioner_of("min_size:4", 2).shards_of(floats({6, 1})) == 2);
  CHECK(partitioner_of("max_size:4", 2).shards_of(floats({6, 1})) == 6);
  CHECK(partitioner_of("fixed:3", 2).shards_of(floats({6, 1})) == 3);
  CHECK(partitioner_of("none", 2).shards_of(floats({6, 1})) == 1);
}

TEST_CASE("what is not a partition is refused") {
  CHECK_THROWS_WITH(split_rows(3, 4), "[partitioner] 3 rows cannot be split into 4 shards");
  CHECK_THROWS_WITH(split_rows(3, 0), "[partitioner] 3 rows cannot be split into 0 shards");
  CHECK_THROWS_WITH(fixed_shards(0), "[partitioner] the number of shards must be at least 1, not 0");
  CHECK_THROWS_WITH(max_shard_size(0), "[partitioner] the size of a shard must be at least 1, not 0");
  CHECK_THROWS_WITH(partitioner_of("ring", 1),
                    "[partitioner] 'ring' is not one of none, fixed:SHARDS, min_size:BYTES and max_size:BYTES");
  CHECK_THROWS_WITH(partitioner_of("fixed:two", 1), "[partitioner] 'fixed:two' needs a whole number behind the colon");
  CHECK_THROWS_WITH(partitioner_of("fixed", 1), "[partitioner] 'fixed' needs a whole number behind the colon");
  CHECK_THROWS_WITH(placement_of("nearest"), "[partitioner] 'nearest' is not one of fewest_elements and round_robin");
  auto runtime = scheduled_runtime(0);
  const Sharding too_many{{[](const TensorInfo& parameter) { return parameter.shape[0] + 1; }}, {}};
  CHECK_THROWS_WITH(hash_of(runtime, with_sharding(1, 2, too_many), Sgd{.lr = 0.1}),
                    Contains("[partitioner] 'dense2.weights', float32[8, 2], cannot be split into 9 shards"));
  CHECK_THROWS_WITH(hash_of(runtime, with_sharding(1, 2, {fixed_shards(13), {}}), Sgd{.lr = 0.1}),
                    Contains("[partitioner] 13 shards are more than any parameter has rows: 'dense1.weights' has 12"));
}

TEST_CASE("parameters in parts come to the bits of a mirrored strategy, and other plans go on with them") {
  const int workers = GENERATE(1, 2);
  const int servers = GENERATE(1, 2, 3);
  const auto placement = GENERATE(Placement::fewest_elements, Placement::round_robin);
  const Optimizer optimizer = Adam{.lr = 0.01};
  auto runtime = scheduled_runtime(7);
  const auto mirrored = train(runtime, Mirrored(cpu_devices(workers)), data_of_50(), Grain::fused, 2, optimizer).hash;
  for (const std::int64_t shards : {1, 2, 5}) {
    CAPTURE(workers, servers, shards);
    const auto strategy = with_sharding(workers, servers, {fixed_shards(shards), placement});
    CHECK(hash_of(runtime, strategy, optimizer) == mirrored);
    auto first = small_trainer(runtime, strategy, {.seed = 3}, optimizer);
    first.fit(data_of_50(), {.epochs = 1});
    const Mirrored other(cpu_devices(workers));
    auto second = small_trainer(runtime, other, {.seed = 3}, optimizer);
    for (const auto& name : first.parameters().names())
      second.parameters().adopt(name, first.parameters().newest(name).value());
    second.parameters().set_position(first.parameters().position());
    second.fit(data_of_50(), {.epochs = 1});
    CHECK(second.parameters().hash(0) == mirrored);
  }
}

TEST_CASE("local steps work on parameters in parts") {
  auto runtime = scheduled_runtime(2);
  const LocalSgd whole(places_of(cpu_devices(2)), {Place{}}, {.local_steps = 3});
  const LocalSgd parts(places_of(cpu_devices(2)), places_of(cpu_devices(2)), {.local_steps = 3},
                       {.sharding = {fixed_shards(3), Placement::round_robin}});
  const Optimizer optimizer = Sgd{.lr = 0.1, .momentum = 0.5};
  CHECK(hash_of(runtime, parts, optimizer) == hash_of(runtime, whole, optimizer));
}

TEST_CASE("groups of an optimizer know parameters by their names, however these are split") {
  auto runtime = scheduled_runtime(2);
  const auto is_bias = [](const std::string& name) { return name.ends_with("bias"); };
  const auto optimizer = Optimizer(Sgd{.lr = 0.1}).with_group(is_bias, Sgd{.lr = 0.01, .momentum = 0.9});
  const auto mirrored = train(runtime, Mirrored(cpu_devices(2)), data_of_50(), Grain::fused, 2, optimizer).hash;
  CHECK(hash_of(runtime, with_sharding(2, 2, {fixed_shards(2), {}}), optimizer) == mirrored);
}

TEST_CASE("a group that freezes parameters within a group freezes them in every strategy") {
  const auto is_first = [](const std::string& name) { return name.starts_with("dense1."); };
  const auto is_bias = [](const std::string& name) { return name == "dense1.bias"; };
  const Optimizer rule = Sgd{.lr = 0.1}, of_first = Sgd{.lr = 0.01, .momentum = 0.9};
  const auto flat = rule.frozen(is_bias).with_group(is_first, of_first);
  const auto nested = rule.with_group(is_first, of_first.frozen(is_bias));
  const auto twice = rule.with_group(is_first, rule.with_group(is_first, of_first.frozen(is_bias)));
  std::vector<std::unique_ptr<Strategy>> strategies;
  strategies.push_back(std::make_unique<OneDevice>());
  strategies.push_back(std::make_unique<Mirrored>(cpu_devices(2)));
  strategies.push_back(std::make_unique<ParameterServer>(with_sharding(2, 2, {fixed_shards(2), {}})));
  strategies.push_back(
      std::make_unique<LocalSgd>(places_of(cpu_devices(2)), std::vector<Place>(1), LocalSgdOptions{.local_steps = 3}));
  for (const auto& strategy : strategies) {
    auto runtime = scheduled_runtime(2);
    const auto expected = hash_of(runtime, *strategy, flat);
    CHECK(hash_of(runtime, *strategy, nested) == expected);
    CHECK(hash_of(runtime, *strategy, twice) == expected);
  }
}
