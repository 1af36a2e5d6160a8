// The parameters after a run of several processes has failed in the middle of a step. The processes are threads here,
// each with a runtime and a cluster of its own.

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "troupe/actors/ports/port_actor.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"
#include "troupe/tests/transport/membership/threads_as_processes.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Passes the gradients of a worker on to a server. Throws at step 3 if `fails`.
class SendingActor final : public PortActor {
 public:
  SendingActor(caf::actor_config& config, bool fails) : PortActor(config), fails_(fails) {}

 private:
  void fire(std::int64_t step, std::span<const Tensor> inputs, std::span<Tensor> outputs) override {
    if (fails_ && step == 3) throw Error("test", "fails");
    outputs[0] = inputs[0].clone();
  }

  const bool fails_;
};

/// Two workers and `servers` servers in as many processes. The gradients of the last worker for the last server fail.
ParameterServer failing_servers(int servers) {
  std::vector<Place> places;
  for (int server = 0; server < servers; ++server) places.push_back({server, {}});
  ServerOptions options;
  options.gradient_actor = [actors = std::make_shared<int>(0), servers](const TensorInfo& gradients, int worker) {
    const bool fails = ++*actors == 2 * servers;
    return external<SendingActor>("gradients@" + std::to_string(worker),
                                  {.inputs = {gradients}, .outputs = {gradients}}, fails);
  };
  return {{{0, {}}, {1, {}}}, places, ConsistencyRule::synchronous(2), options};
}

}  // namespace

TEST_CASE("servers of several processes are broken if only some of them have made an update when a run fails") {
  for (const int servers : {1, 2}) {
    CAPTURE(servers);
    const auto address = new_address();
    std::vector<std::string> broken(2);
    const auto ends = on_processes(2, [&](int rank) {
      const auto cluster = join_cluster(options_of(rank, 2, address));
      Runtime runtime({.workers = 1, .cpu_devices = 2});
      const auto strategy = failing_servers(servers);
      auto trainer = small_trainer(runtime, strategy, {.seed = 3, .cluster = cluster});
      std::string error;
      try {
        trainer.fit(data_of_50());
      } catch (const Error& failure) {
        error = failure.what();
      }
      broken[static_cast<std::size_t>(rank)] = trainer.parameters().broken();
      trainer.evaluate(data_of_50());
      cluster->leave();
      throw Error("test", error);
    });
    for (const auto& end : ends) CHECK_THAT(end, Contains(servers == 1 ? "fails" : "half-written"));
    for (const auto& text : broken) CHECK(text.empty() == (servers == 1));
  }
}

TEST_CASE("servers of several processes are broken if a failed run is destroyed before its values are compared") {
  const auto address = new_address();
  std::vector<std::string> broken(2);
  on_processes(2, [&](int rank) {
    const auto cluster = join_cluster(options_of(rank, 2, address));
    Runtime runtime({.workers = 1, .cpu_devices = 2});
    const auto strategy = failing_servers(2);
    auto trainer = small_trainer(runtime, strategy, {.seed = 3, .cluster = cluster});
    {
      const auto run = trainer.start(data_of_50());
      std::promise<void> over;
      run->on_progress([&, told = false]() mutable {
        if (!std::exchange(told, true)) over.set_value();
      });
      over.get_future().wait_for(patience());
    }
    broken[static_cast<std::size_t>(rank)] = trainer.parameters().broken();
    cluster->leave();
  });
  for (const auto& text : broken) CHECK_FALSE(text.empty());
}

TEST_CASE("parameters of which two processes have rows are broken if one of them does not exchange them") {
  const auto address = new_address();
  std::promise<void> over;
  std::string error;
  std::vector<std::string> broken(2);
  on_processes(2, [&](int rank) {
    const auto cluster = join_cluster(options_of(rank, 2, address));
    Runtime runtime({.workers = 1, .cpu_devices = 2});
    const ParameterServer strategy({{0, {}}, {1, {}}}, {{0, {}}, {1, {}}}, ConsistencyRule::synchronous(2),
                                   {.sharding = {fixed_shards(2), Placement::round_robin}});
    const auto limit = rank == 0 ? limit_of(std::chrono::seconds(2)) : patience();
    auto trainer = small_trainer(runtime, strategy, {.stall_limit = limit, .cluster = cluster});
    if (rank == 0) {
      try {
        trainer.fit(data_of_50());
      } catch (const Error& failure) {
        error = failure.what();
      }
      over.set_value();
    } else {
      // The actors train. This thread takes no part in the exchange of values.
      const auto run = trainer.start(data_of_50());
      over.get_future().wait_for(patience());
    }
    broken[static_cast<std::size_t>(rank)] = trainer.parameters().broken();
    cluster->leave();
  });
  CHECK_FALSE(error.empty());
  CHECK_FALSE(broken[0].empty());
  CHECK_FALSE(broken[1].empty());
}
