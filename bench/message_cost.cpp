// Measures the cost of sending a tensor along an edge and returning its credit: graphs of trivial ops as actors on one
// worker, beside two plain messages between two plain actors of the same actor system.

#include <CLI/CLI.hpp>
#include <caf/event_based_actor.hpp>
#include <cstdio>
#include <fstream>
#include <future>
#include <iostream>
#include <nlohmann/json.hpp>

#include "troupe/actors/caf/mail.hpp"
#include "troupe/actors/messages/messages.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/bench/graph_plan.hpp"
#include "troupe/bench/repetitions.hpp"
#include "troupe/ops/core/random.hpp"
#include "troupe/ops/library/elementwise.hpp"

namespace {

using namespace troupe;
using namespace troupe::bench;

/// The nanoseconds of a message there and one back, of the types that an edge uses.
double bare_messages(Runtime& runtime, std::int64_t pairs) {
  std::promise<void> done;
  const auto echo = runtime.system().spawn([](caf::event_based_actor* self) -> caf::behavior {
    return {[self](TensorReady& ready) {
              tell(*self, caf::actor_cast<caf::actor>(self->current_sender()), CreditReturned{0, ready.slot, 0});
            },
            [self](const Stop&) { self->quit(); }};
  });
  const auto tensor = Tensor::scalar(1.0F);
  const auto begin = std::chrono::steady_clock::now();
  runtime.system().spawn([&, pairs](caf::event_based_actor* self) -> caf::behavior {
    tell(*self, echo, TensorReady{0, 0, {}, tensor, nullptr});
    return {[&, self, left = pairs](const CreditReturned&) mutable {
      if (--left > 0) {
        tell(*self, echo, TensorReady{0, 0, {}, tensor, nullptr});
        return;
      }
      done.set_value();
      self->quit();
    }};
  });
  done.get_future().wait();
  const auto elapsed = std::chrono::steady_clock::now() - begin;
  post(echo, Stop{});
  return std::chrono::duration<double, std::nano>(elapsed).count() / static_cast<double>(pairs);
}

Graph chain(int ops) {
  GraphBuilder builder;
  auto x = builder.input("x", {1});
  for (int i = 0; i < ops; ++i) x = scale(x, 1.0);
  builder.output("y", x);
  return std::move(builder).build();
}

/// One value that all ops read. The sink receives the results.
Graph fan_out(int ops) {
  GraphBuilder builder;
  const auto x = builder.input("x", {1});
  for (int i = 0; i < ops; ++i) builder.output("y" + std::to_string(i), scale(x, 1.0));
  return std::move(builder).build();
}

/// Sums of pairs of earlier values, of near ones more often.
Graph random_dag(int ops) {
  constexpr std::uint64_t kSeed = 7, kReach = 50;
  GraphBuilder builder;
  std::vector<Value> values{builder.input("x", {1})};
  std::vector<bool> read(static_cast<std::size_t>(ops) + 1, false);
  const auto pick = [&](std::uint64_t draw) {
    const auto back = uniform_below(std::min<std::uint64_t>(values.size(), kReach), kSeed, 0, draw);
    read[values.size() - 1 - back] = true;
    return values[values.size() - 1 - back];
  };
  for (int i = 0; i < ops; ++i) {
    const auto a = pick(2 * static_cast<std::uint64_t>(i));
    const auto b = pick(2 * static_cast<std::uint64_t>(i) + 1);
    values.push_back(add(a, b));
  }
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!read[i]) builder.output("y" + std::to_string(i), values[i]);
  return std::move(builder).build();
}

std::int64_t edge_firings(const Plan& plan) {
  std::int64_t count = 0;
  for (const auto& edge : plan.edges) count += static_cast<std::int64_t>(edge.consumers.size());
  return count;
}

/// Returns the nanoseconds of a step.
double run_steps(SpawnedPlan& plan, std::int64_t steps) {
  const auto begin = std::chrono::steady_clock::now();
  plan.start({0, steps, 0});
  plan.wait();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() /
         static_cast<double>(steps);
}

struct Options {
  int ops = 1000;
  int capacity = 2;
  std::int64_t steps = 400;
  int repetitions = 9;
  std::string json;
};

nlohmann::json measure(const Options& options, const std::string& name, const Graph& graph) {
  Runtime runtime({.workers = 1, .cpu_devices = 1});
  SpawnedPlan per_op(runtime, plan_for(graph, Grain::per_op, options.capacity));
  SpawnedPlan fused(runtime, plan_for(graph, Grain::fused, 1));
  const auto edges = static_cast<double>(edge_firings(per_op.plan()));
  const Contenders contenders{{"bare", [&] { return bare_messages(runtime, options.steps * options.ops / 4); }},
                              {"per-op", [&] { return run_steps(per_op, options.steps) / edges; }},
                              {"fused", [&] { return run_steps(fused, options.steps * 10) / options.ops; }}};
  const auto figures = alternate(contenders, options.repetitions);
  const auto ratio = median_ratio(figures.at("per-op"), figures.at("bare"));
  std::printf("%-10s two bare messages %4.0f ns, per-op %4.0f ns an edge (%.2f of bare), fused %3.0f ns an op\n",
              name.c_str(), median(figures.at("bare")), median(figures.at("per-op")), ratio,
              median(figures.at("fused")));
  return {{"graph", name},
          {"bare_ns", median(figures.at("bare"))},
          {"per_op_ns_per_edge", median(figures.at("per-op"))},
          {"ratio", ratio},
          {"fused_ns_per_op", median(figures.at("fused"))}};
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Cost of an edge firing", "message_cost");
  app.add_option("--ops", options.ops)->check(CLI::Range(1, 100'000));
  app.add_option("--capacity", options.capacity, "of every edge in the per-op grain")->check(CLI::Range(1, 64));
  app.add_option("--steps", options.steps)->check(CLI::PositiveNumber);
  app.add_option("--repetitions", options.repetitions)->check(CLI::Range(1, 1000));
  app.add_option("--json", options.json);
  CLI11_PARSE(app, argc, argv);
  try {
    nlohmann::json rows{measure(options, "chain", chain(options.ops)),
                        measure(options, "fan-out", fan_out(options.ops)),
                        measure(options, "random DAG", random_dag(options.ops))};
    if (!options.json.empty()) std::ofstream(options.json) << rows.dump(2) << "\n";
  } catch (const std::exception& error) {
    std::cerr << "message_cost: " << error.what() << std::endl;
    return 1;
  }
  return 0;
}
