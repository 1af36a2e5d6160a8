// Measures whether independent ops run concurrently: a graph of two equal heavy branches in one replica, alternately
// with one and with two workers, with an actor per op and with an actor per chain of ops.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>

#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/bench/graph_plan.hpp"
#include "troupe/bench/repetitions.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/matmul.hpp"

namespace {

using namespace troupe;
using namespace troupe::bench;

Graph two_branches(std::int64_t size, int depth) {
  GraphBuilder builder;
  const auto x = builder.input("x", {size, size});
  std::vector<Value> ends;
  for (int branch = 0; branch < 2; ++branch) {
    auto y = x;
    for (int i = 0; i < depth; ++i) y = matmul(y, x);
    ends.push_back(y);
  }
  builder.output("y", add(ends[0], ends[1]));
  return std::move(builder).build();
}

double steps_per_second(SpawnedPlan& plan, std::int64_t steps) {
  const auto begin = std::chrono::steady_clock::now();
  plan.start({0, steps, 0});
  plan.wait();
  return static_cast<double>(steps) / std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void compare(const Graph& graph, Grain grain, std::int64_t steps, int repetitions) {
  Runtime one({.workers = 1}), two({.workers = 2});
  SpawnedPlan with_one(one, plan_for(graph, grain, 1)), with_two(two, plan_for(graph, grain, 1));
  const auto figures = alternate({{"one", [&] { return steps_per_second(with_one, steps); }},
                                  {"two", [&] { return steps_per_second(with_two, steps); }}},
                                 repetitions);
  std::printf("%-6s one worker %.0f steps/s, two workers %.0f steps/s: %.2f times as fast\n", to_string(grain).c_str(),
              median(figures.at("one")), median(figures.at("two")), median_ratio(figures.at("two"), figures.at("one")));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  std::int64_t size = 384, steps = 100;
  int depth = 4, repetitions = 9;
  CLI::App app("Two branches at once", "branches");
  app.add_option("--size", size, "of the square matrices")->check(CLI::PositiveNumber);
  app.add_option("--depth", depth, "products of a branch")->check(CLI::Range(1, 1000));
  app.add_option("--steps", steps)->check(CLI::PositiveNumber);
  app.add_option("--repetitions", repetitions)->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  try {
    const auto graph = two_branches(size, depth);
    for (const auto grain : {Grain::per_op, Grain::chains}) compare(graph, grain, steps, repetitions);
  } catch (const std::exception& error) {
    std::cerr << "branches: " << error.what() << std::endl;
    return 1;
  }
  return 0;
}
