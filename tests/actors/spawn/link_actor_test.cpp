#include "troupe/actors/spawn/link_actor.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>

#include "troupe/actors/caf/mail.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr std::uint64_t kGeneration = 7, kRun = 1;
constexpr EdgeId kComes = 3, kGoes = 4;

/// The supervisor and the neighbours of a stand-in: writes down what it is told.
class Neighbour final : public caf::event_based_actor {
 public:
  using caf::event_based_actor::event_based_actor;
  caf::behavior make_behavior() override {
    return {[](const Prepared&) {},
            [](const RunFinished&) {},
            [this](TensorReady& ready) {
              arrived.push_back(std::move(ready));
              if (on_tensor) on_tensor();
            },
            [this](const CreditReturned& credit) { returned.push_back(credit.slot); },
            [this](const DataEnded& ended) { ends.push_back(ended.lost); },
            [this](const StepFailed& failed) { failures.push_back(failed.failure->what); },
            [this](const AbortRun& aborted) { failures.push_back(aborted.failure->what); }};
  }

  std::function<void()> on_tensor;
  std::vector<TensorReady> arrived;
  std::vector<std::uint32_t> returned;
  std::vector<bool> ends;
  std::vector<std::string> failures;
};

/// A stand-in for process 2 in process 0, with one edge from there and one to there; the test is the other process.
struct StandIn {
  explicit StandIn(bool expendable, std::uint64_t seed = 1, const TensorInfo& info = kPair)
      : runtime(scheduled_runtime(seed)) {
    neighbour_actor = runtime.system().spawn<Neighbour>();
    neighbour = dynamic_cast<Neighbour*>(caf::actor_cast<caf::abstract_actor*>(neighbour_actor));
    auto [near, far] = make_memory_link();
    other_end = std::move(far);
    actor = spawn_link_actor(
        runtime.system(), {.name = "link", .peer = 2, .expendable = expendable, .inputs = {kGoes}, .outputs = {kComes}},
        std::move(near));
    auto status = std::make_shared<ExecutorStatus>();
    status->name = "link";
    post(actor, Wire{.generation = kGeneration,
                     .rank = 0,
                     .status = status,
                     .supervisor = neighbour_actor,
                     .inputs = {{{neighbour_actor, 0, 0}, 2, 0, "goes", "source"}},
                     .outputs = {{{{neighbour_actor, 0}}, 2, 0, "comes", {"sink"}, info}}});
    post(actor, PrepareRun{.run = kRun});
    deliver();
  }
  ~StandIn() {
    neighbour->arrived.clear();
    neighbour->on_tensor = nullptr;
    for (const auto& each : {actor, neighbour_actor}) caf::anon_send_exit(each, caf::exit_reason::kill);
    deliver();
  }
  void deliver() {
    while (runtime.run_one()) {
    }
  }
  static FrameHeader header(FrameType type, EdgeId edge) { return {type, edge, 1, 0, kGeneration, kRun, 5}; }
  /// What the other process sends over the edge from there.
  void come(const Tensor& tensor) {
    other_end->send({header(FrameType::tensor_ready, kComes), tensor});
    deliver();
  }
  /// What an actor of this process sends over the edge to there.
  void go(const Tensor& tensor) {
    post(actor, TensorReady{0, 1, {kGeneration, kRun, 5}, tensor});
    deliver();
  }

  Runtime runtime;
  caf::actor actor, neighbour_actor;
  Neighbour* neighbour = nullptr;
  std::shared_ptr<Link> other_end;
};

}  // namespace

TEST_CASE("a stand-in passes tensors and credits on in both directions") {
  StandIn stand_in(false);
  const auto pair = Tensor::from<float>({2}, {1, 2});
  stand_in.come(pair);
  REQUIRE(stand_in.neighbour->arrived.size() == 1);
  CHECK(stand_in.neighbour->arrived[0].tensor.data<float>()[1] == 2.0F);
  CHECK(stand_in.neighbour->arrived[0].stamp.step == 5);
  stand_in.go(pair);
  const auto frame = stand_in.other_end->receive();
  REQUIRE(frame);
  CHECK(frame->header == StandIn::header(FrameType::tensor_ready, kGoes));
  CHECK(stand_in.neighbour->returned.empty());
  stand_in.other_end->send({StandIn::header(FrameType::credit_returned, kGoes)});
  stand_in.deliver();
  CHECK(stand_in.neighbour->returned == std::vector<std::uint32_t>{1});
}

TEST_CASE("what is sent because of a large tensor may go before the next one is read") {
  const auto seeds = schedules(20);
  const TensorInfo large{Shape{1 << 20}, DType::float32};
  int before_next = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    StandIn stand_in(false, seed, large);
    stand_in.neighbour->on_tensor = [&] {
      if (stand_in.neighbour->arrived.size() == 1)
        post(stand_in.actor, TensorReady{0, 1, {kGeneration, kRun, 5}, Tensor::from<float>({2}, {1, 2})});
      else if (stand_in.other_end->receive())
        ++before_next;
    };
    for (std::int32_t slot = 0; slot < 2; ++slot) {
      auto header = StandIn::header(FrameType::tensor_ready, kComes);
      header.slot = slot;
      stand_in.other_end->send({header, Tensor(large.shape, large.dtype)});
    }
    stand_in.deliver();
    CHECK(stand_in.neighbour->arrived.size() == 2);
  }
  CHECK(before_next > 0);
}

TEST_CASE("a tensor that is not what the plan says of its edge is refused in the name of who sent it") {
  const std::vector<std::pair<Tensor, std::string>> cases{{Tensor({3}, DType::float32), "float32[3]"},
                                                          {Tensor({2}, DType::int32), "int32[2]"},
                                                          {Tensor({2, 1}, DType::float32), "float32[2, 1]"}};
  for (const auto& [tensor, text] : cases) {
    StandIn stand_in(false);
    stand_in.come(tensor);
    CHECK(stand_in.neighbour->arrived.empty());
    CHECK(stand_in.neighbour->failures ==
          std::vector<std::string>{"[process 2] sent " + text + " on cpu:0 where the plan says float32[2]"});
  }
}

TEST_CASE("without its peer a stand-in fails the run, or returns what it held and ends its edges as lost") {
  for (const bool expendable : {false, true}) {
    StandIn stand_in(expendable);
    stand_in.go(Tensor::from<float>({2}, {1, 2}));
    stand_in.other_end.reset();
    stand_in.deliver();
    CHECK(stand_in.neighbour->failures.size() == (expendable ? 0 : 1));
    CHECK(stand_in.neighbour->returned.size() == (expendable ? 1 : 0));
    CHECK(stand_in.neighbour->ends == (expendable ? std::vector<bool>{true} : std::vector<bool>{}));
  }
}
