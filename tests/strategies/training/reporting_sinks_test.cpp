#include "troupe/strategies/training/reporting_sinks.hpp"

#include "troupe/actors/shard/consistency_rule.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Two replicas, of which each plan leaves one out: only replica 0 trains, evaluates and predicts. With `reports` the
/// strategy says so, and the replica gets whole batches.
class HalfStrategy final : public Strategy {
 public:
  explicit HalfStrategy(bool reports) : Strategy(places_of(cpu_devices(2))), reports_(reports) {}

  std::vector<int> reporting_replicas() const override {
    return reports_ ? std::vector{0} : Strategy::reporting_replicas();
  }
  Plan training_plan(const PlanRequest& request) const override {
    return plan_of(request,
                   without_all_reduce(training_graph(request.spec, request.data.fields(), unreduced(request.spec))));
  }
  Plan evaluation_plan(const PlanRequest& request) const override {
    return plan_of(request, forward_graph(request.spec, request.data.fields()));
  }
  Plan prediction_plan(const PlanRequest& request) const override {
    return plan_of(request, prediction_graph(request.spec, request.data.fields()));
  }

 private:
  Plan plan_of(const PlanRequest& request, const Graph& graph) const {
    auto plan = empty_plan(request, 1);
    add_replica(plan, request, graph, {0, reports_ ? 1 : 2, places()[0]});
    return plan;
  }

  bool reports_;
};

/// Mirrored, but the sink of a replica drops the report of one step.
class ForgetfulSink final : public Strategy {
 public:
  ForgetfulSink(int replicas, int forgetful) : Strategy(places_of(cpu_devices(replicas))), forgetful_(forgetful) {}

  Plan training_plan(const PlanRequest& request) const override {
    auto plan = Mirrored(places()).training_plan(request);
    for (auto& actor : plan.actors)
      if (actor.role == ActorRole::sink && actor.replica == forgetful_)
        actor.make_task = [](const PlanActor& self, SpawnContext& context) -> std::unique_ptr<Task> {
          const std::shared_ptr<Task> sink = context.tasks.at("metrics")(self, context);
          return std::make_unique<FunctionTask>([sink](const Firing& firing) {
            if (firing.step != 2) sink->fire(firing);
          });
        };
    return plan;
  }

 private:
  int forgetful_;
};

}  // namespace

TEST_CASE("a replica that a plan leaves out is named, unless the strategy says that it does not report") {
  auto runtime = scheduled_runtime(2);
  const HalfStrategy silent(false);
  auto trainer = small_trainer(runtime, silent);
  CHECK_THROWS_WITH(trainer.fit(data_of_50()), Contains("[strategy] the plan has 0 sinks of replica 1"));
  CHECK_THROWS_WITH(trainer.evaluate(data_of_50()), Contains("[strategy] the plan has 0 sinks of replica 1"));
  CHECK_THROWS_WITH(trainer.predict(data_of_50()), Contains("[predict]") && Contains("of 50 rows"));
  CHECK(trainer.steps() == 0);

  const HalfStrategy declared(true);
  auto other = small_trainer(runtime, declared);
  const auto result = other.fit(data_of_50());
  const OneDevice one;
  auto alone = small_trainer(runtime, one);
  CHECK(result.steps == 4);
  CHECK(result.rows == 50);
  CHECK(alone.fit(data_of_50()).epochs[0].training.loss == result.epochs[0].training.loss);
}

TEST_CASE("a step that a sink does not report fails the fit, with the replica and the step") {
  auto runtime = scheduled_runtime(2);
  const ForgetfulSink alone(1, 0);
  CHECK_THROWS_WITH(small_trainer(runtime, alone).fit(data_of_50()),
                    Contains("3 of its 4 steps were reported: no replica has reported the others"));
  const ForgetfulSink first(2, 0), second(2, 1);
  CHECK_THROWS_WITH(small_trainer(runtime, first).fit(data_of_50()),
                    Contains("[metrics] replica 1 reports step 2 where replica 0 reports step 3"));
  CHECK_THROWS_WITH(small_trainer(runtime, second).fit(data_of_50()),
                    Contains("[metrics] replica 1 reports step 3 where replica 0 reports step 2"));
}

TEST_CASE("staleness is empty unless shards have counted it") {
  auto runtime = scheduled_runtime(2);
  const OneDevice one;
  CHECK(small_trainer(runtime, one).fit(data_of_50()).staleness == Staleness{});
  const ParameterServer servers(places_of(cpu_devices(2)), places_of(cpu_devices(1)), ConsistencyRule::synchronous(2));
  CHECK(small_trainer(runtime, servers).fit(data_of_50()).staleness.applied.at(0) == 8);
}

TEST_CASE("a trainer tells that its strategy has been destroyed") {
  auto runtime = scheduled_runtime(2);
  auto strategy = std::make_unique<OneDevice>();
  auto trainer = small_trainer(runtime, *strategy);
  trainer.fit(data_of_50());
  const auto copy = std::make_unique<OneDevice>(*strategy);
  strategy.reset();
  const auto destroyed = Contains("[trainer] its strategy has been destroyed");
  CHECK_THROWS_WITH(trainer.fit(data_of_50()), destroyed);
  CHECK_THROWS_WITH(trainer.evaluate(data_of_50()), destroyed);
  CHECK_THROWS_WITH(trainer.predict(data_of_50()), destroyed);
  CHECK_THROWS_WITH(trainer.training_plan(data_of_50()), destroyed);
  CHECK_THROWS_WITH(trainer.strategy(), destroyed);
}

TEST_CASE("places that cannot exist are refused when a strategy is made") {
  CHECK_THROWS_WITH(OneDevice(Device{DeviceType::cpu, -3}), Contains("[strategy] there is no cpu:-3 in process 0"));
  CHECK_THROWS_WITH(OneDevice(Place{-1, {}}), Contains("[strategy] there is no cpu:0 in process -1"));
  OneDevice one;
  CHECK_THROWS_WITH(one.set_forward_places({{0, {DeviceType::cpu, -1}}}), Contains("there is no cpu:-1"));
}
