#include "troupe/actors/ports/port_actor.hpp"

#include "troupe/actors/plan/lower.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

class Source : public PortActor {
 public:
  Source(caf::actor_config& config, std::int64_t steps) : PortActor(config), steps_(steps) {}

 private:
  bool has_step(std::int64_t step) override { return step < steps_; }
  void fire(std::int64_t step, std::span<const Tensor>, std::span<Tensor> outputs) override {
    outputs[0] = Tensor::from<float>(Shape{2}, std::vector<float>{static_cast<float>(step), 0.0F});
  }
  std::int64_t steps_;
};

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

class Sink : public PortActor {
 public:
  Sink(caf::actor_config& config, std::vector<float>* record) : PortActor(config), record_(record) {}

 private:
  void fire(std::int64_t, std::span<const Tensor> inputs, std::span<Tensor>) override {
    record_->push_back(inputs[0].data<float>()[0]);
  }
  std::vector<float>* record_;
};

Plan pipeline(std::int64_t steps, Doubler::Fault fault, std::vector<float>& record) {
  GraphBuilder builder;
  builder.output("y", scale(builder.input("x", {2}), 10.0));
  Plan plan;
  const auto source = plan.add(external<Source>("source", {.outputs = {kPair}}, steps));
  const auto doubler = plan.add(external<Doubler>("doubler", {.inputs = {kPair}, .outputs = {kPair}}, fault));
  plan.connect(source, 0, doubler, 2);
  const auto ops = lower(plan, std::move(builder).build(), {.inputs = {{"x", {doubler, 0}}}});
  plan.connect(ops.at("y").actor, 0, plan.add(external<Sink>("sink", {.inputs = {kPair}}, &record)), 2);
  return plan;
}

void run_plan(std::uint64_t seed, const Plan& plan, std::int64_t first = 0, std::int64_t steps = 1000) {
  auto runtime = scheduled_runtime(seed);
  SpawnedPlan spawned(runtime, seed % 2 == 0 ? split(plan) : fuse(plan));
  spawned.start({first, steps, 0});
  spawned.wait();
}

}  // namespace

TEST_CASE("external actors are source, transform and sink of a pipeline with ops between") {
  for (std::uint64_t seed = 0; seed < schedules(30); ++seed) {
    std::vector<float> record;
    run_plan(seed, pipeline(5, Doubler::Fault::none, record));
    CHECK(record == std::vector<float>{0, 20, 40, 60, 80});
    record.clear();
    run_plan(seed, pipeline(5, Doubler::Fault::none, record), 1, 2);
    CHECK(record == std::vector<float>{20, 40});
  }
}

TEST_CASE("an exception outside of a firing is reported with its text") {
  class Refuser : public PortActor {
    using PortActor::PortActor;
    bool has_step(std::int64_t) override { throw std::runtime_error("[refuser] not today"); }
    void fire(std::int64_t, std::span<const Tensor>, std::span<Tensor>) override {}
  };
  std::vector<float> record;
  Plan plan;
  plan.connect(plan.add(external<Refuser>("refuser", {.outputs = {kPair}})), 0,
               plan.add(external<Sink>("sink", {.inputs = {kPair}}, &record)));
  CHECK_THROWS_WITH(run_plan(0, plan), Contains("[refuser] not today"));
}

TEST_CASE("what an external actor does wrong ends the run with its name and step") {
  for (std::uint64_t seed = 0; seed < schedules(10); ++seed) {
    std::vector<float> record;
    CHECK_THROWS_WITH(run_plan(seed, pipeline(9, Doubler::Fault::throws, record)),
                      Contains("[doubler] no more (op doubler, step 3"));
    CHECK_THROWS_WITH(run_plan(seed, pipeline(9, Doubler::Fault::sets_nothing, record)),
                      Contains("[doubler] output 0 was not set"));
    CHECK_THROWS_WITH(run_plan(seed, pipeline(9, Doubler::Fault::passes_input_on, record)),
                      Contains("[doubler] output 0 shares memory with input 0"));
    CHECK_THROWS_WITH(
        run_plan(seed, pipeline(9, Doubler::Fault::wrong_shape, record)),
        Contains("[doubler] sent float32[3] on cpu:0 where the plan says float32[2]") && Contains("step 3"));
  }
}

TEST_CASE("tensors of a user's actor are checked where they are sent, for any consumer") {
  /// Sends tensors of another type than it declares.
  class Liar : public PortActor {
    using PortActor::PortActor;
    bool has_step(std::int64_t step) override { return step < 9; }
    void fire(std::int64_t, std::span<const Tensor>, std::span<Tensor> outputs) override {
      outputs[0] = Tensor(Shape{2}, DType::int32);
    }
  };
  for (std::uint64_t seed = 0; seed < schedules(4); ++seed) {
    std::vector<float> record;
    Plan plan;
    plan.connect(plan.add(external<Liar>("liar", {.outputs = {kPair}})), 0,
                 plan.add(external<Sink>("sink", {.inputs = {kPair}}, &record)));
    CHECK_THROWS_WITH(run_plan(seed, plan),
                      Contains("[liar] sent int32[2] on cpu:0 where the plan says float32[2] (op liar, step 0"));
    CHECK(record.empty());
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
                   plan.add(external<Sink>("sink" + std::to_string(i), {.inputs = {kPair}}, &records[i])));
    run_plan(4, plan);
    for (std::size_t i = 0; i < read.size(); ++i) {
      const auto number = static_cast<float>(read[i]);
      CHECK(records[i] == std::vector<float>{number, 10.0F + number, 20.0F + number});
    }
  }
}

TEST_CASE("a user's actor that is not connected as it declares is refused") {
  const auto error_of = [](const std::vector<TensorInfo>& declared, int connected) {
    Plan plan;
    std::vector<float> record;
    const auto source = plan.add(external<Source>("source", {.outputs = {kPair}}, std::int64_t{3}));
    const auto sink = plan.add(external<Sink>("sink", {.inputs = declared}, &record));
    for (int i = 0; i < connected; ++i) plan.connect(source, 0, sink);
    try {
      run_plan(5, plan);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(error_of({kPair}, 1).empty());
  CHECK_THAT(error_of({kPair, kPair}, 1), Contains("'sink' declares 2 inputs, but 1 are connected"));
  CHECK_THAT(error_of({kPair}, 2), Contains("'sink' declares 1 inputs, but 2 are connected"));
  CHECK_THAT(error_of({{Shape{3}, DType::float32}}, 1),
             Contains("'sink' declares input 0 as float32[3], but 'source' carries float32[2]"));
  CHECK_THAT(error_of({{Shape{2}, DType::int32}}, 1), Contains("as int32[2], but 'source' carries float32[2]"));
  CHECK_THAT(error_of({kPair}, 0), Contains("'sink'"));
}

#ifdef TROUPE_CHECKS
namespace {

/// Returns what it gets, but keeps a handle.
class Keeper : public PortActor {
  using PortActor::PortActor;
  void fire(std::int64_t, std::span<const Tensor> inputs, std::span<Tensor>) override { kept_ = inputs[0]; }
  Tensor kept_;
};

}  // namespace

TEST_CASE("with checks, a consumer that returns a slot but keeps its tensor is found out") {
  Plan plan;
  const auto source = plan.add(counting_source("source", 5));
  plan.connect(source, 0, plan.add(external<Keeper>("keeper", {.inputs = {kPair}})));
  CHECK_THROWS_WITH(run_plan(0, plan),
                    Contains("[credit] a consumer of 'source' returned a slot but still holds its tensor"));
}
#endif

TEST_CASE("the number of a port that an external actor does not have is refused with the actor's name") {
  struct Caller : PortActor {
    Caller(caf::actor_config& config, int call) : PortActor(config), call_(call) {}
    void advance() override {
      Arrival arrival;
      switch (call_) {
        case 0:
          return (void)has(7);
        case 1:
          return (void)take(1);
        case 2:
          return give_back(2, arrival);
        case 3:
          return refuse(3, arrival);
        case 4:
          return (void)(ended(4) || lost(4));
        case 5:
          return (void)lost(5);
        case 6:
          return (void)has_free(1);
        case 7:
          return (void)send_output(3, Tensor(Shape{2}, DType::float32), 0);
        case 8:
          return (void)send_failure(4, nullptr, 0);
        case 9:
          return (void)was_refused(1, 0);
        default:
          return (void)was_refused(0, 2);
      }
    }
    int call_;
  };
  const char* const texts[] = {
      "has 1 inputs, so none has the number 7",        "has 1 inputs, so none has the number 1",
      "has 1 inputs, so none has the number 2",        "has 1 inputs, so none has the number 3",
      "has 1 inputs, so none has the number 4",        "has 1 inputs, so none has the number 5",
      "has 1 outputs, so none has the number 1",       "has 1 outputs, so none has the number 3",
      "has 1 outputs, so none has the number 4",       "has 1 outputs, so none has the number 1",
      "output 0 has 2 slots, so none has the number 2"};
  for (int call = 0; call < static_cast<int>(std::size(texts)); ++call) {
    std::vector<float> record;
    Plan plan;
    const auto source = plan.add(external<Source>("source", {.outputs = {kPair}}, 3));
    const auto caller =
        plan.add(external<Caller>("caller", {.inputs = {kPair}, .outputs = {kPair}, .rule = FiringRule::own}, call));
    plan.connect(source, 0, caller);
    plan.connect(caller, 0, plan.add(external<Sink>("sink", {.inputs = {kPair}}, &record)), 2);
    INFO(call);
    CHECK_THROWS_WITH(run_plan(0, plan), Contains(std::string("[caller] ") + texts[call]));
  }
}

namespace {

/// Sends one tensor of its own in every step; in each step it writes the number of the step to the tensor if it
/// `writes`. Sends a view of the tensor if it `sends_view`.
class Resender : public PortActor {
 public:
  Resender(caf::actor_config& config, bool writes, bool sends_view)
      : PortActor(config), writes_(writes), sends_view_(sends_view) {}

 private:
  bool has_step(std::int64_t step) override { return step < 20; }
  void fire(std::int64_t step, std::span<const Tensor>, std::span<Tensor> outputs) override {
    if (writes_) own_.mutable_data<float>()[0] = static_cast<float>(step);
    outputs[0] = sends_view_ ? own_.view(Shape{2}) : own_;
  }
  bool writes_, sends_view_;
  Tensor own_{Shape{2}, DType::float32};
};

Plan resend(bool writes, bool sends_view, std::int32_t capacity, std::vector<float>& record) {
  Plan plan;
  const auto resender = plan.add(external<Resender>("resender", {.outputs = {kPair}}, writes, sends_view));
  plan.connect(resender, 0, plan.add(external<Sink>("sink", {.inputs = {kPair}}, &record)), capacity);
  return plan;
}

}  // namespace

TEST_CASE("an actor may send its own tensor again and again, but not write to it while a slot carries it") {
  for (std::uint64_t seed = 0; seed < schedules(20); ++seed) {
    for (const bool sends_view : {false, true}) {
      std::vector<float> record;
      run_plan(seed, resend(false, sends_view, 3, record));
      CHECK(record == std::vector<float>(20, 0.0F));
      record.clear();
      run_plan(seed, resend(true, sends_view, 1, record));
      CHECK(record == counted(0, 20, 0.0F));
      record.clear();
      // With several slots the source writes to a tensor that the sink has not read.
      std::string error;
      try {
        run_plan(seed, resend(true, sends_view, 3, record));
      } catch (const Error& thrown) {
        error = thrown.what();
      }
      if (error.empty()) CHECK(record == counted(0, 20, 0.0F));
      if (!error.empty())
        CHECK_THAT(error, Contains("[resender] the tensor that output 0 carried was written to before its slot was"));
    }
  }
  std::vector<float> record;
  CHECK_THROWS_WITH(
      [&] {
        for (std::uint64_t seed = 0; seed < 20; ++seed) run_plan(seed, resend(true, false, 3, record));
      }(),
      Contains("[resender] the tensor that output 0 carried was written to"));
}

TEST_CASE("a user's actor that sends after its end, or a failure that is none, is refused by name") {
  struct Late : PortActor {
    Late(caf::actor_config& config, bool ends) : PortActor(config), ends_(ends) {}
    void advance() override {
      if (!is_open()) return;
      if (!ends_) return (void)send_failure(0, nullptr, 0);
      end();
      send_output(0, Tensor(Shape{2}, DType::float32), 0);
    }
    bool ends_;
  };
  for (const bool ends : {true, false}) {
    std::vector<float> record;
    Plan plan;
    auto late = external<Late>("late", {.outputs = {kPair}, .rule = FiringRule::own}, ends);
    plan.connect(plan.add(std::move(late)), 0, plan.add(external<Sink>("sink", {.inputs = {kPair}}, &record)));
    CHECK_THROWS_WITH(run_plan(3, plan), Contains(ends ? "[late] sends on output 0 after the end of its run"
                                                       : "[late] calls send_failure() without a failure"));
    CHECK(record.empty());
  }
}

TEST_CASE("an exception of the constructor of a user's actor is an error with the actor's name") {
  struct Broken : PortActor {
    explicit Broken(caf::actor_config& config) : PortActor(config) { throw std::runtime_error("no camera"); }
  };
  std::vector<float> record;
  Plan plan;
  plan.connect(plan.add(external<Broken>("broken", {.outputs = {kPair}})), 0,
               plan.add(external<Sink>("sink", {.inputs = {kPair}}, &record)));
  CHECK_THROWS_WITH(run_plan(0, plan), Contains("[broken] cannot be spawned: no camera"));
  auto nothing = external<Source>("nothing", {.outputs = {kPair}}, 3);
  nothing.spawn_external = [](caf::actor_system&, SpawnContext&) { return caf::actor(); };
  Plan empty;
  empty.connect(empty.add(std::move(nothing)), 0, empty.add(external<Sink>("sink", {.inputs = {kPair}}, &record)));
  CHECK_THROWS_WITH(run_plan(0, empty), Contains("[nothing] cannot be spawned: PlanActor::spawn_external returned no"));
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
