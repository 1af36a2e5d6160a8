// Users' actors that hold parameters of the store.

#include "troupe/actors/plan/plan_text.hpp"
#include "troupe/actors/ports/port_actor.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/actors/store/lease.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr std::int64_t kNever = -1;

/// Passes pairs on, each multiplied by parameter 0, and adds them to parameter 1. Fails within the update of a step.
class Accumulator final : public PortActor {
 public:
  Accumulator(caf::actor_config& config, std::int64_t fails_at) : PortActor(config), fails_at_(fails_at) {}

 protected:
  void fire(std::int64_t step, std::span<const Tensor> inputs, std::span<Tensor> outputs) override {
    outputs[0] = inputs[0].clone();
    for (auto& element : outputs[0].mutable_data<float>()) element *= parameter(0).item<float>();
    update_parameter(1, [&](const Tensor& sum) {
      for (std::size_t i = 0; i < 2; ++i) {
        sum.mutable_data<float>()[i] += inputs[0].data<float>()[i];
        if (step == fails_at_) throw Error("accumulator", "fails");
      }
    });
  }

 private:
  std::int64_t fails_at_;
};

/// An actor that uses its parameters in a forbidden way.
class Meddler final : public PortActor {
 public:
  Meddler(caf::actor_config& config, std::size_t number) : PortActor(config), number_(number) {}

 protected:
  void fire(std::int64_t, std::span<const Tensor>, std::span<Tensor>) override {
    update_parameter(number_, [](const Tensor&) {});
  }

 private:
  std::size_t number_;
};

/// Adds to each element of its rows how many rows they are.
class RowFiller final : public PortActor {
 public:
  using PortActor::PortActor;

 protected:
  void fire(std::int64_t, std::span<const Tensor>, std::span<Tensor>) override {
    update_parameter(0, [](const Tensor& rows) {
      for (auto& element : rows.mutable_data<float>()) element += static_cast<float>(rows.shape()[0]);
    });
  }
};

constexpr auto kHost = DeviceType::cpu;

/// source -> accumulator -> sink, for `steps` steps.
Plan accumulating_plan(std::vector<float>& record, std::int64_t steps, std::int64_t fails_at = kNever) {
  Plan plan;
  plan.add_parameter({{"factor", 0}, {Shape{}, DType::float32}, {kHost, 0}, Initializer::constant(2.0)});
  plan.add_parameter({{"sum", 0}, kPair, {kHost, 0}, Initializer::zeros()});
  const auto source = plan.add(counting_source("source", steps));
  const auto accumulator = plan.add(external<Accumulator>(
      "accumulator", {.inputs = {kPair}, .outputs = {kPair}, .parameters = {{{"factor", 0}}, {{"sum", 0}, true}}},
      fails_at));
  plan.connect(source, 0, accumulator);
  plan.connect(accumulator, 0, plan.add(recording_sink("sink", record)));
  return plan;
}

SpawnContext context_with(const std::shared_ptr<ParameterStore>& store) {
  SpawnContext context;
  context.store = store;
  return context;
}

}  // namespace

TEST_CASE("a user's actor reads and updates parameters of the store, over runs, in every grain") {
  for (const auto grain : {Grain::fused, Grain::chains, Grain::per_op}) {
    auto runtime = scheduled_runtime(1);
    const auto store = std::make_shared<ParameterStore>();
    std::vector<float> record;
    SpawnedPlan plan(runtime, in_grain(accumulating_plan(record, 5), grain), context_with(store));
    plan.start({});
    plan.wait();
    CHECK(record == std::vector<float>{0.0F, 2.0F, 4.0F, 6.0F, 8.0F});
    CHECK(store->get("sum").data<float>()[0] == 10.0F);
    CHECK(store->get("sum").data<float>()[1] == -10.0F);
    CHECK(store->newest_updates("sum") == 5);
    store->set("factor", Tensor::scalar(3.0F));
    record.clear();
    plan.start({});
    plan.wait();
    CHECK(record.back() == 12.0F);
    CHECK(store->get("sum").data<float>()[0] == 20.0F);
  }
}

TEST_CASE("what a user's actor writes is borrowed for the run, and broken if it fails in an update") {
  auto runtime = scheduled_runtime(2);
  const auto store = std::make_shared<ParameterStore>();
  std::vector<float> record;
  SpawnedPlan plan(runtime, split(accumulating_plan(record, 5, 3)), context_with(store));
  {
    const auto reading = store->borrow({}, {{"sum", 0}}, "another run", {});
    CHECK_THROWS_WITH(plan.start({}), Contains("'sum'") && Contains("another run"));
  }
  plan.start({});
  CHECK_THROWS_WITH(plan.wait(), Contains("[accumulator] fails"));
  CHECK_THROWS_WITH(store->get("sum"), Contains("may be half-written"));
  store->set("sum", Tensor(Shape{2}, DType::float32));
  CHECK(store->get("sum").data<float>()[0] == 0.0F);
}

TEST_CASE("what a user's actor holds stays whole when a step fails elsewhere, however far ahead it is") {
  for (std::uint64_t seed = 0; seed < schedules(20); ++seed) {
    auto runtime = scheduled_runtime(seed);
    const auto store = std::make_shared<ParameterStore>();
    std::vector<float> record;
    auto plan = accumulating_plan(record, 8);
    plan.edges[plan.actors[1].outputs[0].edge].capacity = 4;
    plan.add_parameter({{"weight", 0}, kPair, {kHost, 0}, Initializer::zeros()});
    // An update of a parameter of the same replica, behind an actor that fails in step 3.
    const auto check = plan.add(function_actor("check", 1, [](const Firing& firing) {
      if (firing.step == 3) throw Error("check", "fails");
    }));
    plan.connect(1, 0, check);
    const auto id = plan.add(function_actor("update", 1, [](const Firing&) {}));
    plan.actors[id].outputs[0].parameter = ParameterRef{"weight", 0};
    plan.connect(check, 0, id);
    const auto loop = plan.edge_of(id, 0, 1, 1);
    plan.connect(loop, id, kPair, 0);
    SpawnedPlan spawned(runtime, split(plan), context_with(store));
    spawned.start({});
    CHECK_THROWS_WITH(spawned.wait(), Contains("[check] fails"));
    CHECK(store->broken().empty());
    CHECK(store->newest_updates("weight") == 3);
    CHECK(*store->newest_updates("sum") >= 4);
    const auto count = static_cast<float>(*store->newest_updates("sum"));
    CHECK(store->get("sum").data<float>()[0] == count * (count - 1.0F) / 2.0F);
  }
}

TEST_CASE("an update that failed is known even if the actor goes on") {
  /// Swallows what its update throws.
  class Careless final : public PortActor {
    using PortActor::PortActor;
    void fire(std::int64_t, std::span<const Tensor>, std::span<Tensor>) override {
      try {
        update_parameter(0, [](const Tensor&) { throw Error("careless", "fails"); });
      } catch (const Error&) {
        return;
      }
    }
  };
  auto runtime = scheduled_runtime(4);
  const auto store = std::make_shared<ParameterStore>();
  Plan plan;
  plan.add_parameter({{"sum", 0}, kPair, {kHost, 0}, Initializer::zeros()});
  const auto source = plan.add(counting_source("source", 3));
  plan.connect(source, 0,
               plan.add(external<Careless>("careless", {.inputs = {kPair}, .parameters = {{{"sum", 0}, true}}})));
  SpawnedPlan spawned(runtime, split(plan), context_with(store));
  spawned.start({});
  spawned.wait();
  CHECK_THROWS_WITH(store->get("sum"), Contains("an update of it has failed"));
}

TEST_CASE("parameters that a user's actor cannot hold are refused") {
  auto runtime = scheduled_runtime(3);
  std::vector<float> record;
  const auto error_of = [&](auto change) {
    auto plan = accumulating_plan(record, 2);
    change(plan);
    try {
      SpawnedPlan spawned(runtime, split(plan));
      spawned.start({});
      spawned.wait();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK_THAT(error_of([](Plan& plan) { plan.actors[1].parameters[0].ref.name = "other"; }),
             Contains("'accumulator' refers to parameter 'other'"));
  CHECK_THAT(error_of([](Plan& plan) {
               plan.parameters[1].device = {DeviceType::cuda, 0};
             }),
             Contains("'accumulator' holds parameter 'sum', which is on cuda:0"));
  CHECK_THAT(error_of([](Plan& plan) { plan.actors[0].parameters = plan.actors[1].parameters; }),
             Contains("'source' holds parameters but is not an external actor"));
  CHECK_THAT(error_of([](Plan& plan) {
               auto second =
                   external<Meddler>("second", {.inputs = {kPair}, .parameters = {{{"sum", 0}, true}}}, std::size_t{0});
               plan.connect(0, 0, plan.add(second));
             }),
             Contains("'second' writes parameter 'sum', which 'accumulator' writes too"));
  CHECK_THAT(
      error_of([](Plan& plan) {
        auto reader = external<Meddler>("reader", {.inputs = {kPair}, .parameters = {{{"sum", 0}}}}, std::size_t{0});
        plan.connect(0, 0, plan.add(reader));
      }),
      Contains("'reader' reads parameter 'sum', which 'accumulator' writes at the same time"));
  const auto with_rows = [&](const RowRange& own, const RowRange& others) {
    return error_of([&](Plan& plan) {
      plan.actors[1].parameters[1].rows = own;
      auto second =
          external<Meddler>("second", {.inputs = {kPair}, .parameters = {{{"sum", 0}, true, others}}}, std::size_t{0});
      plan.connect(0, 0, plan.add(second));
    });
  };
  CHECK_THAT(with_rows({0, 2}, {1, 1}), Contains("'second' writes parameter 'sum', which 'accumulator' writes too"));
  CHECK_THAT(with_rows({0, 1}, {1, 2}), Contains("'second' holds rows 1 to 2 of parameter 'sum', which is float32[2]"));
  CHECK_THAT(with_rows({0, 1}, {1, 0}), Contains("'second' holds rows 1 to 0 of parameter 'sum'"));
  CHECK_THAT(error_of([](Plan& plan) {
               plan.actors[2].inputs.push_back({.info = kPair, .parameter = ParameterRef{"sum", 0}});
             }),
             Contains("'sink' reads parameter 'sum', which 'accumulator' writes at the same time"));
  const auto meddle = [&](std::size_t number) {
    return error_of([&](Plan& plan) {
      plan.connect(
          0, 0, plan.add(external<Meddler>("meddler", {.inputs = {kPair}, .parameters = {{{"factor", 0}}}}, number)));
    });
  };
  CHECK_THAT(meddle(0), Contains("[meddler] only reads parameter 0"));
  CHECK_THAT(meddle(1), Contains("[meddler] holds 1 parameters, so none has the number 1"));
}

TEST_CASE("actors hold rows of one parameter apart") {
  auto runtime = scheduled_runtime(4);
  Plan plan;
  plan.add_parameter({{"all", 0}, {Shape{5, 2}, DType::float32}, {kHost, 0}, Initializer::zeros()});
  const auto source = plan.add(counting_source("source", 3));
  for (const auto& rows : {RowRange{0, 2}, RowRange{2, 3}}) {
    ExternalPorts ports{.inputs = {kPair}, .parameters = {{{"all", 0}, true, rows}}};
    plan.connect(source, 0, plan.add(external<RowFiller>("from " + std::to_string(rows.first), ports)));
  }
  auto store = std::make_shared<ParameterStore>();
  SpawnContext context;
  context.store = store;
  SpawnedPlan spawned(runtime, split(plan), context);
  for (int run = 1; run < 3; ++run) {
    spawned.start({});
    spawned.wait();
    const auto all = store->get("all");
    const auto sum = static_cast<float>(3 * run);
    CHECK(std::vector<float>(all.data<float>().begin(), all.data<float>().end()) ==
          std::vector<float>{2 * sum, 2 * sum, 2 * sum, 2 * sum, 3 * sum, 3 * sum, 3 * sum, 3 * sum, 3 * sum, 3 * sum});
    CHECK(store->newest_updates("all") == 3 * run);
  }
}

TEST_CASE("held parameters are part of what a plan is") {
  std::vector<float> record;
  const auto plan = split(accumulating_plan(record, 2));
  auto other = plan;
  CHECK(hash_of(plan) == hash_of(other));
  other.actors[1].parameters[0].written = true;
  CHECK_FALSE(plan == other);
  CHECK(hash_of(plan) != hash_of(other));
  CHECK_THAT(to_text(plan), Contains("reads 'factor', writes 'sum'"));
  auto rows = plan;
  rows.actors[1].parameters[1].rows = RowRange{1, 1};
  CHECK_FALSE(plan == rows);
  CHECK(hash_of(plan) != hash_of(rows));
  CHECK_THAT(to_text(rows), Contains("reads 'factor', writes 'sum' rows 1 to 1"));
}
