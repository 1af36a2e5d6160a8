#include "troupe/actors/ports/port_actor.hpp"

#include "troupe/actors/plan/lower.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/tests/actors/ports/step_actors.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Doubles; misbehaves at one step.
class Doubler : public PortActor {
 public:
  enum class Fault { none, throws, sets_nothing, wrong_shape, passes_input_on };
  Doubler(caf::actor_config& config, Fault fault) : PortActor(config), fault_(fault) {}

 private:
  void fire(std::int64_t step, std::span<const Tensor> inputs, std::span<Tensor> outputs) override {
    const bool bad = step == 3;
    if (bad && fault_ == Fault::throws) throw std::runtime_error("[doubler] no more");
    if (bad && fault_ == Fault::sets_nothing) return;
    if (bad && fault_ == Fault::passes_input_on) {
      outputs[0] = inputs[0];
      return;
    }
    outputs[0] = Tensor(bad && fault_ == Fault::wrong_shape ? Shape{3} : Shape{2}, DType::float32);
    for (int i = 0; i < 2; ++i) outputs[0].mutable_data<float>()[i] = 2.0F * inputs[0].data<float>()[i];
  }
  Fault fault_;
};

Plan pipeline(std::int64_t steps, Doubler::Fault fault, std::vector<float>& record) {
  GraphBuilder builder;
  builder.output("y", scale(builder.input("x", {2}), 10.0));
  Plan plan;
  const auto source = plan.add(external<StepSource>("source", {.outputs = {kPair}}, steps));
  const auto doubler = plan.add(external<Doubler>("doubler", {.inputs = {kPair}, .outputs = {kPair}}, fault));
  plan.connect(source, 0, doubler, 2);
  const auto ops = lower(plan, std::move(builder).build(), {.inputs = {{"x", {doubler, 0}}}});
  plan.connect(ops.at("y").actor, 0, plan.add(external<FirstSink>("sink", {.inputs = {kPair}}, &record)), 2);
  return plan;
}

}  // namespace

TEST_CASE("external actors are source, transform and sink of a pipeline with ops between") {
  for (std::uint64_t seed = 0; seed < schedules(30); ++seed) {
    std::vector<float> record;
    run_seeded(seed, pipeline(5, Doubler::Fault::none, record));
    CHECK(record == std::vector<float>{0, 20, 40, 60, 80});
    record.clear();
    run_seeded(seed, pipeline(5, Doubler::Fault::none, record), 1, 2);
    CHECK(record == std::vector<float>{20, 40});
  }
}

TEST_CASE("what an external actor does wrong ends the run with its name and step") {
  for (std::uint64_t seed = 0; seed < schedules(10); ++seed) {
    std::vector<float> record;
    CHECK_THROWS_WITH(run_seeded(seed, pipeline(9, Doubler::Fault::throws, record)),
                      Contains("[doubler] no more (op doubler, step 3"));
    CHECK_THROWS_WITH(run_seeded(seed, pipeline(9, Doubler::Fault::sets_nothing, record)),
                      Contains("[doubler] output 0 was not set"));
    CHECK_THROWS_WITH(run_seeded(seed, pipeline(9, Doubler::Fault::passes_input_on, record)),
                      Contains("[doubler] output 0 shares memory with input 0"));
    CHECK_THROWS_WITH(
        run_seeded(seed, pipeline(9, Doubler::Fault::wrong_shape, record)),
        Contains("[doubler] sent float32[3] on cpu:0 where the plan says float32[2]") && Contains("step 3"));
  }
}

TEST_CASE("outputs of a user's actor keep their numbers, whichever of them are read") {
  /// Output i carries 10 step + i.
  class Three final : public PortActor {
    using PortActor::PortActor;
    bool has_step(std::int64_t step) override { return step < 3; }
    void fire(std::int64_t step, std::span<const Tensor>, std::span<Tensor> outputs) override {
      REQUIRE(outputs.size() == 3);
      for (std::size_t i = 0; i < 3; ++i)
        outputs[i] =
            Tensor::from<float>(Shape{2}, std::vector<float>(2, static_cast<float>(10 * step) + static_cast<float>(i)));
    }
  };
  for (const std::vector<std::int32_t>& read : {std::vector<std::int32_t>{0, 2}, {1}, {2, 1, 0}, {}}) {
    std::vector<std::vector<float>> records(read.size());
    Plan plan;
    const auto three = plan.add(external<Three>("three", {.outputs = {kPair, kPair, kPair}}));
    for (std::size_t i = 0; i < read.size(); ++i)
      plan.connect(three, read[i],
                   plan.add(external<FirstSink>("sink" + std::to_string(i), {.inputs = {kPair}}, &records[i])));
    run_seeded(4, plan);
    for (std::size_t i = 0; i < read.size(); ++i) {
      const auto number = static_cast<float>(read[i]);
      CHECK(records[i] == std::vector<float>{number, 10.0F + number, 20.0F + number});
    }
  }
}

#ifndef CAF_VERSION_MAJOR
TEST_CASE("a user's actor can call CAF's send(), too") {
  struct Teller : PortActor {
    Teller(caf::actor_config& config, caf::actor to) : PortActor(config), to_(std::move(to)) {}
    bool has_step(std::int64_t step) override { return step < 3; }
    void fire(std::int64_t step, std::span<const Tensor>, std::span<Tensor>) override {
      PortActor::send(to_, static_cast<int>(step));
    }
    void on_stop() override { to_ = nullptr; }
    caf::actor to_;
  };
  const auto runtime = scheduled_runtime(1);
  int sum = 0;
  const auto listener = runtime.system().spawn(
      [&sum](caf::event_based_actor*) -> caf::behavior { return {[&sum](int number) { sum += number; }}; });
  Plan plan;
  plan.add(external<Teller>("teller", {}, listener));
  SpawnedPlan spawned(runtime, split(plan));
  spawned.start({});
  spawned.wait();
  while (runtime.run_one()) {
  }
  CHECK(sum == 3);
  caf::anon_send_exit(listener, caf::exit_reason::user_shutdown);
  while (runtime.run_one()) {
  }
}
#endif
