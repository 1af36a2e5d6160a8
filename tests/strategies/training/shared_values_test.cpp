#include "troupe/strategies/training/shared_values.hpp"

#include <array>
#include <functional>
#include <span>
#include <thread>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/store/lease.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/transport/communicator.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// The values of the parameter `w` in the stores of three processes, and the errors of their exchange.
struct Exchange {
  Exchange() {
    for (std::size_t rank = 0; rank < stores.size(); ++rank) {
      stores[rank].add({{"w", 0}, {{2}, DType::float32}, {}, Initializer::constant(1.0), true});
      const std::vector<float> value(2, static_cast<float>(rank));
      stores[rank].set("w", Tensor::from<float>({2}, value));
    }
  }

  void run() {
    on_ranks([this](auto& group, auto processes, std::size_t rank) {
      adopt_newest_values(group, processes, stores[rank], patience());
    });
  }

  void spread_after(const Plan& plan) {
    on_ranks([&](auto& group, auto processes, std::size_t rank) {
      spread_held_values(group, processes, plan, stores[rank], patience());
    });
  }

  void on_ranks(const std::function<void(Communicator&, std::span<const int>, std::size_t)>& exchange) {
    const auto group = make_local_group(3);
    const std::array processes{0, 2, 5};
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < stores.size(); ++rank)
      threads.emplace_back([&, rank] {
        try {
          exchange(*group[rank], processes, rank);
        } catch (const Error& error) {
          errors[rank] = error.what();
        }
      });
    for (auto& thread : threads) thread.join();
  }

  std::array<ParameterStore, 3> stores{ParameterStore(1), ParameterStore(1), ParameterStore(1)};
  std::array<std::string, 3> errors;
};

/// A plan in which an actor of process 2 updates `w`: as an op, or as an actor of a program that holds it.
Plan updated_in_process_2(bool by_op) {
  Plan plan;
  const TensorInfo info{{2}, DType::float32};
  plan.parameters.push_back({{"w", 0}, info, {}});
  PlanActor actor;
  actor.name = "update";
  actor.place.process = 2;
  if (by_op) {
    PlanOutput output;
    output.parameter = ParameterRef{"w", 0};
    actor.outputs.push_back(output);
  } else {
    HeldParameter held;
    held.ref = {"w", 0};
    held.written = true;
    actor.parameters.push_back(held);
  }
  plan.actors.push_back(actor);
  return plan;
}

}  // namespace

TEST_CASE("a value that one process has updated reaches all after a run") {
  const bool by_op = GENERATE(true, false);
  Exchange exchange;
  exchange.stores[1].set("w", Tensor::from<float>({2}, {7.0F, 8.0F}));
  exchange.spread_after(updated_in_process_2(by_op));
  for (std::size_t rank = 0; rank < 3; ++rank) {
    CHECK(exchange.errors[rank].empty());
    CHECK(exchange.stores[rank].get("w").data<float>()[1] == 8.0F);
  }
}

TEST_CASE("a value that is half-written in the process that has updated it is an error in all, and changes no store") {
  const bool by_op = GENERATE(true, false);
  Exchange exchange;
  exchange.stores[1].borrow({}, {{"w", 0}}, "a run", {}).abandon("it hung");
  exchange.spread_after(updated_in_process_2(by_op));
  for (std::size_t rank = 0; rank < 3; ++rank) {
    CHECK_THAT(exchange.errors[rank], Contains("[trainer] 'w' should be in process 2, but is not"));
    if (rank != 1) CHECK(exchange.stores[rank].get("w").data<float>()[0] == static_cast<float>(rank));
  }
}

TEST_CASE("the version with the most updates wins, and the positions of the rank that has it") {
  Exchange exchange;
  exchange.stores[2].set("w", Tensor::from<float>({2}, {7.0F, 8.0F}));
  exchange.stores[2].set_position({.step = 5}, "critic");
  exchange.stores[0].set_position({.step = 3}, "critic");
  exchange.run();
  for (std::size_t rank = 0; rank < 3; ++rank) {
    CHECK(exchange.errors[rank].empty());
    CHECK(exchange.stores[rank].get("w").data<float>()[1] == 8.0F);
    CHECK(exchange.stores[rank].position("critic").step == 5);
  }
}

TEST_CASE("all processes get the values of rank 0 if no process has newer ones") {
  Exchange exchange;
  exchange.run();
  for (std::size_t rank = 0; rank < 3; ++rank) {
    CHECK(exchange.errors[rank].empty());
    CHECK(exchange.stores[rank].get("w").data<float>()[0] == 0.0F);
  }
}

TEST_CASE("half-written parameters of one process are an error in all, and change no store") {
  const std::size_t broken = GENERATE(0, 1);
  Exchange exchange;
  exchange.stores[broken].borrow({}, {{"w", 0}}, "a run", {}).abandon("it hung");
  exchange.run();
  for (std::size_t rank = 0; rank < 3; ++rank) {
    INFO("rank " << rank);
    if (rank == broken) {
      CHECK_THAT(exchange.errors[rank], Contains("may be half-written: it hung"));
      continue;
    }
    const auto process = broken == 0 ? "in process 0" : "in process 2";
    CHECK_THAT(exchange.errors[rank], Contains(process) && Contains("half-written"));
    CHECK(exchange.stores[rank].get("w").data<float>()[0] == static_cast<float>(rank));
  }
}
