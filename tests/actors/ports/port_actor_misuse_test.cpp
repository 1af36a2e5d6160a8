// Actors of the user that use their ports in a wrong way, and the errors that name them.

#include "troupe/tests/actors/ports/step_actors.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("an exception outside of a firing is reported with its text") {
  class Refuser : public PortActor {
    using PortActor::PortActor;
    bool has_step(std::int64_t) override { throw std::runtime_error("[refuser] not today"); }
    void fire(std::int64_t, std::span<const Tensor>, std::span<Tensor>) override {}
  };
  std::vector<float> record;
  Plan plan;
  plan.connect(plan.add(external<Refuser>("refuser", {.outputs = {kPair}})), 0,
               plan.add(external<FirstSink>("sink", {.inputs = {kPair}}, &record)));
  CHECK_THROWS_WITH(run_seeded(0, plan), Contains("[refuser] not today"));
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
                 plan.add(external<FirstSink>("sink", {.inputs = {kPair}}, &record)));
    CHECK_THROWS_WITH(run_seeded(seed, plan),
                      Contains("[liar] sent int32[2] on cpu:0 where the plan says float32[2] (op liar, step 0"));
    CHECK(record.empty());
  }
}

TEST_CASE("a user's actor that is not connected as it declares is refused") {
  const auto error_of = [](const std::vector<TensorInfo>& declared, int connected) {
    Plan plan;
    std::vector<float> record;
    const auto source = plan.add(external<StepSource>("source", {.outputs = {kPair}}, std::int64_t{3}));
    const auto sink = plan.add(external<FirstSink>("sink", {.inputs = declared}, &record));
    for (int i = 0; i < connected; ++i) plan.connect(source, 0, sink);
    try {
      run_seeded(5, plan);
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
    const auto source = plan.add(external<StepSource>("source", {.outputs = {kPair}}, 3));
    const auto caller =
        plan.add(external<Caller>("caller", {.inputs = {kPair}, .outputs = {kPair}, .rule = FiringRule::own}, call));
    plan.connect(source, 0, caller);
    plan.connect(caller, 0, plan.add(external<FirstSink>("sink", {.inputs = {kPair}}, &record)), 2);
    INFO(call);
    CHECK_THROWS_WITH(run_seeded(0, plan), Contains(std::string("[caller] ") + texts[call]));
  }
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
    plan.connect(plan.add(std::move(late)), 0, plan.add(external<FirstSink>("sink", {.inputs = {kPair}}, &record)));
    CHECK_THROWS_WITH(run_seeded(3, plan), Contains(ends ? "[late] sends on output 0 after the end of its run"
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
               plan.add(external<FirstSink>("sink", {.inputs = {kPair}}, &record)));
  CHECK_THROWS_WITH(run_seeded(0, plan), Contains("[broken] cannot be spawned: no camera"));
  auto nothing = external<StepSource>("nothing", {.outputs = {kPair}}, 3);
  nothing.spawn_external = [](caf::actor_system&, SpawnContext&) { return caf::actor(); };
  Plan empty;
  empty.connect(empty.add(std::move(nothing)), 0, empty.add(external<FirstSink>("sink", {.inputs = {kPair}}, &record)));
  CHECK_THROWS_WITH(run_seeded(0, empty),
                    Contains("[nothing] cannot be spawned: PlanActor::spawn_external returned no"));
}
