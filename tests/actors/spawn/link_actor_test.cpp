#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>

#include "troupe/actors/caf/mail.hpp"
#include "troupe/actors/spawn/wiring.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr std::uint64_t kGeneration = 7, kRun = 1;
constexpr EdgeId kComes = 3, kGoes = 4;

/// The supervisor and the neighbors of a proxy: writes down the messages that it gets.
class Neighbor final : public caf::event_based_actor {
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

/// A proxy for process 2 in rank 0, with one edge from there and one to there; the test is the other process.
struct Proxy {
  explicit Proxy(bool expendable, std::uint64_t seed = 1, const TensorInfo& info = kPair)
      : runtime(scheduled_runtime(seed)) {
    neighbor_actor = runtime.system().spawn<Neighbor>();
    neighbor = dynamic_cast<Neighbor*>(caf::actor_cast<caf::abstract_actor*>(neighbor_actor));
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
                     .supervisor = neighbor_actor,
                     .inputs = {{{neighbor_actor, 0, 0}, 2, 0, "goes", "source"}},
                     .outputs = {{{{neighbor_actor, 0}}, 2, 0, "comes", {"sink"}, info}}});
    post(actor, PrepareRun{.run = kRun});
    deliver();
  }
  ~Proxy() {
    neighbor->arrived.clear();
    neighbor->on_tensor = nullptr;
    for (const auto& each : {actor, neighbor_actor}) caf::anon_send_exit(each, caf::exit_reason::kill);
    deliver();
  }
  void deliver() {
    while (runtime.run_one()) {
    }
  }
  static FrameHeader header(FrameType type, EdgeId edge) { return {type, edge, 1, 0, kGeneration, kRun, 5}; }
  /// The other process sends a tensor over the edge from there.
  void come(const Tensor& tensor) {
    other_end->send({header(FrameType::tensor_ready, kComes), tensor});
    deliver();
  }
  /// An actor of this process sends a tensor over the edge to there.
  void go(const Tensor& tensor) {
    post(actor, TensorReady{0, 1, {kGeneration, kRun, 5}, tensor});
    deliver();
  }

  Runtime runtime;
  caf::actor actor, neighbor_actor;
  Neighbor* neighbor = nullptr;
  std::shared_ptr<Link> other_end;
};

}  // namespace

TEST_CASE("a proxy passes tensors and credits on in both directions") {
  Proxy proxy(false);
  const auto pair = Tensor::from<float>({2}, {1, 2});
  proxy.come(pair);
  REQUIRE(proxy.neighbor->arrived.size() == 1);
  CHECK(proxy.neighbor->arrived[0].tensor.data<float>()[1] == 2.0F);
  CHECK(proxy.neighbor->arrived[0].stamp.step == 5);
  proxy.go(pair);
  const auto frame = proxy.other_end->receive();
  REQUIRE(frame);
  CHECK(frame->header == Proxy::header(FrameType::tensor_ready, kGoes));
  CHECK(proxy.neighbor->returned.empty());
  proxy.other_end->send({Proxy::header(FrameType::credit_returned, kGoes)});
  proxy.deliver();
  CHECK(proxy.neighbor->returned == std::vector<std::uint32_t>{1});
}

TEST_CASE("what is sent because of a large tensor may go before the next one is read") {
  const auto seeds = schedules(20);
  const TensorInfo large{Shape{1 << 20}, DType::float32};
  int before_next = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    Proxy proxy(false, seed, large);
    proxy.neighbor->on_tensor = [&] {
      if (proxy.neighbor->arrived.size() == 1)
        post(proxy.actor, TensorReady{0, 1, {kGeneration, kRun, 5}, Tensor::from<float>({2}, {1, 2})});
      else if (proxy.other_end->receive())
        ++before_next;
    };
    for (std::int32_t slot = 0; slot < 2; ++slot) {
      auto header = Proxy::header(FrameType::tensor_ready, kComes);
      header.slot = slot;
      proxy.other_end->send({header, Tensor(large.shape, large.dtype)});
    }
    proxy.deliver();
    CHECK(proxy.neighbor->arrived.size() == 2);
  }
  CHECK(before_next > 0);
}

TEST_CASE("a tensor that is not what the plan says of its edge is refused in the name of who sent it") {
  const std::vector<std::pair<Tensor, std::string>> cases{{Tensor({3}, DType::float32), "float32[3]"},
                                                          {Tensor({2}, DType::int32), "int32[2]"},
                                                          {Tensor({2, 1}, DType::float32), "float32[2, 1]"}};
  for (const auto& [tensor, text] : cases) {
    Proxy proxy(false);
    proxy.come(tensor);
    CHECK(proxy.neighbor->arrived.empty());
    CHECK(proxy.neighbor->failures ==
          std::vector<std::string>{"[process 2] sent " + text + " on cpu:0 where the plan says float32[2]"});
  }
}

TEST_CASE("without its peer a proxy fails the run, or returns what it held and ends its edges as lost") {
  for (const bool expendable : {false, true}) {
    Proxy proxy(expendable);
    proxy.go(Tensor::from<float>({2}, {1, 2}));
    proxy.other_end.reset();
    proxy.deliver();
    CHECK(proxy.neighbor->failures.size() == (expendable ? 0 : 1));
    CHECK(proxy.neighbor->returned.size() == (expendable ? 1 : 0));
    CHECK(proxy.neighbor->ends == (expendable ? std::vector<bool>{true} : std::vector<bool>{}));
  }
}
