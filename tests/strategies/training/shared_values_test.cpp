#include "troupe/strategies/training/shared_values.hpp"

#include <array>
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
    const auto group = make_local_group(3);
    const std::array processes{0, 2, 5};
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < stores.size(); ++rank)
      threads.emplace_back([&, rank] {
        try {
          adopt_newest_values(*group[rank], processes, stores[rank], patience());
        } catch (const Error& error) {
          errors[rank] = error.what();
        }
      });
    for (auto& thread : threads) thread.join();
  }

  std::array<ParameterStore, 3> stores{ParameterStore(1), ParameterStore(1), ParameterStore(1)};
  std::array<std::string, 3> errors;
};

}  // namespace

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
  exchange.stores[broken].borrow({}, {{"w", 0}}, "a run").abandon("it hung");
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
