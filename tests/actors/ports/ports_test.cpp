#include "troupe/actors/ports/ports.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <functional>

#include "troupe/actors/caf/mail.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr std::uint64_t kThisGeneration = 7;

/// Owns ports with one input and one output, both joined to itself through another actor's address or its own.
class Owner : public caf::event_based_actor, public PortsListener {
 public:
  explicit Owner(caf::actor_config& config) : caf::event_based_actor(config), ports(*this, *this) {}
  caf::behavior make_behavior() override {
    return {[this](TensorReady& ready) { ports.accept(ready); },
            [this](const CreditReturned& returned) { ports.accept(returned); },
            [this](const DataEnded& ended) { ports.accept(ended); },
            [this](const Continue&) { std::exchange(todo, {})(ports); }};
  }
  void on_arrival(std::uint32_t) override { ++arrivals; }
  void on_free(std::uint32_t, std::uint32_t slot) override { freed.push_back(slot); }
  void on_ended(std::uint32_t) override { ++ends; }
  FailurePtr on_work_failed(Failure failure) override { return std::make_shared<Failure>(std::move(failure)); }

  Ports ports;
  std::function<void(Ports&)> todo;
  int arrivals = 0, ends = 0;
  std::vector<std::uint32_t> freed;
};

/// A producer and a consumer joined by an edge, driven by the test.
struct Pair {
  explicit Pair(std::uint32_t capacity = 2, std::uint32_t tokens = 0) : runtime(scheduled_runtime(1)) {
    producer_actor = runtime.system().spawn<Owner>();
    consumer_actor = runtime.system().spawn<Owner>();
    producer = dynamic_cast<Owner*>(caf::actor_cast<caf::abstract_actor*>(producer_actor));
    consumer = dynamic_cast<Owner*>(caf::actor_cast<caf::abstract_actor*>(consumer_actor));
    producer->ports.wire(kThisGeneration, {}, {{{{consumer_actor, 0}}, capacity, tokens, "edge", {"consumer"}}});
    consumer->ports.wire(kThisGeneration, {{{producer_actor, 0, 0}, capacity, tokens, "edge", "producer"}}, {});
    deliver();
  }
  ~Pair() {
    producer->ports.clear();
    consumer->ports.clear();
    for (const auto& actor : {producer_actor, consumer_actor}) caf::anon_send_exit(actor, caf::exit_reason::kill);
    deliver();
  }
  void deliver() {
    while (runtime.run_one()) {
    }
  }
  /// Lets an owner do something to its ports in a handler, as it must, and delivers what comes of it.
  void let(Owner* owner, std::function<void(Ports&)> action) {
    owner->todo = std::move(action);
    post(owner == producer ? producer_actor : consumer_actor, Continue{});
    deliver();
  }
  void send(std::int64_t step) {
    let(producer, [step](Ports& ports) {
      ports.send(0, ports.take_slot(0), step, {Tensor::scalar(static_cast<float>(step))}, nullptr);
    });
  }

  Runtime runtime;
  caf::actor producer_actor, consumer_actor;
  Owner *producer = nullptr, *consumer = nullptr;
};

}  // namespace

TEST_CASE("a tensor fills a slot, and the slot is free when it is returned") {
  Pair pair;
  for (auto* owner : {pair.producer, pair.consumer}) owner->ports.prepare(1);
  pair.send(0);
  pair.send(1);
  CHECK_FALSE(pair.producer->ports.has_free(0));
  CHECK(pair.consumer->arrivals == 2);
  pair.let(pair.consumer, [](Ports& ports) {
    auto arrival = ports.take(0);
    CHECK(arrival.tensor.item<float>() == 0.0F);
    ports.give_back(0, arrival);
    CHECK_FALSE(arrival.tensor);
  });
  CHECK(pair.producer->freed.size() == 1);
  CHECK(pair.producer->ports.free_slots(0) == 1);
  CHECK_FALSE(pair.producer->ports.at_rest(0));
}

TEST_CASE("what belongs to a run that is not prepared here waits, and so does its end") {
  Pair pair;
  pair.producer->ports.prepare(2);
  pair.consumer->ports.prepare(1);
  pair.send(5);
  pair.let(pair.producer, [](Ports& ports) { ports.end(0); });
  CHECK(pair.consumer->arrivals == 0);
  CHECK(pair.consumer->ends == 0);
  CHECK_FALSE(pair.consumer->ports.has(0));
  CHECK_FALSE(pair.consumer->ports.drained(0));
  CHECK(pair.consumer->ports.waiting(0) == 1);
  pair.let(pair.consumer, [](Ports& ports) { ports.drain(0); });
  CHECK(pair.producer->freed.empty());
  pair.consumer->ports.prepare(2);
  REQUIRE(pair.consumer->ports.has(0));
  CHECK(pair.consumer->ports.take(0).tensor.item<float>() == 5.0F);
  CHECK(pair.consumer->ports.drained(0));
}

TEST_CASE("messages of another generation are void") {
  Pair pair;
  for (auto* owner : {pair.producer, pair.consumer}) owner->ports.prepare(1);
  const Stamp old{kThisGeneration - 1, 1, 0};
  post(pair.consumer_actor, TensorReady{0, 0, old, Tensor::scalar(1.0F), nullptr});
  post(pair.consumer_actor, DataEnded{0, old});
  post(pair.producer_actor, CreditReturned{0, 0, 0, kThisGeneration - 1});
  pair.deliver();
  CHECK(pair.consumer->arrivals == 0);
  CHECK(pair.consumer->ends == 0);
  CHECK(pair.producer->freed.empty());
  CHECK(pair.producer->ports.free_slots(0) == 2);
}

TEST_CASE("a run begins with the tokens that were sent last, and ends with every slot free") {
  Pair pair(3, 2);
  const auto tensor_of = [](std::uint32_t slot) { return SentTensor{Tensor::scalar(static_cast<float>(10 * slot))}; };
  const auto steps_of_tokens = [&](std::uint64_t run) {
    for (auto* owner : {pair.producer, pair.consumer}) owner->ports.prepare(run);
    pair.let(pair.producer, [&](Ports& ports) { ports.send_tokens(0, 5, tensor_of); });
    std::vector<std::int64_t> steps;
    pair.let(pair.consumer, [&](Ports& ports) {
      while (ports.has(0)) {
        auto arrival = ports.take(0);
        steps.push_back(arrival.step);
        CHECK(arrival.tensor.item<float>() == 10.0F * static_cast<float>(arrival.slot));
        ports.give_back(0, arrival);
      }
    });
    return steps;
  };
  CHECK(steps_of_tokens(1) == std::vector<std::int64_t>{3, 4});
  pair.send(5);
  CHECK_FALSE(pair.producer->ports.at_rest(0));
  pair.let(pair.consumer, [](Ports& ports) { ports.drain(0); });
  CHECK(pair.producer->ports.at_rest(0));
  CHECK(steps_of_tokens(2) == std::vector<std::int64_t>{4, 5});
}

TEST_CASE("tokens of a run that is not prepared here wait, and are not returned by the end of the last one") {
  Pair pair(1, 1);
  const auto tensor_of = [](std::uint32_t) { return SentTensor{Tensor::scalar(1.0F)}; };
  pair.producer->ports.prepare(2);
  pair.consumer->ports.prepare(1);
  pair.let(pair.producer, [&](Ports& ports) { ports.send_tokens(0, 0, tensor_of); });
  pair.let(pair.consumer, [](Ports& ports) { ports.drain(0); });
  CHECK(pair.producer->freed.empty());
  pair.consumer->ports.prepare(2);
  CHECK(pair.consumer->ports.has(0));
}
