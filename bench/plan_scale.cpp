// Measures the plan of many replicas in each process: the time to make it, to check it, to prove it live, to lay it out
// and to hash it, as every process of a job does, and the peak memory.

#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <iostream>

#include "troupe/actors/plan/check_plan.hpp"
#include "troupe/actors/plan/liveness.hpp"
#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/plan/segment_layout.hpp"
#include "troupe/examples/models.hpp"
#include "troupe/ops/data/fashion_mnist.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/training/trainer.hpp"

using namespace troupe;

namespace {

template <class Function>
double seconds_of(Function function) {
  const auto begin = std::chrono::steady_clock::now();
  function();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void measure(const std::string& model, int replicas) {
  std::vector<Place> places;
  for (int process = 0; process < replicas; ++process) places.push_back({process, {}});
  const Mirrored strategy(places);
  const Runtime runtime({.workers = 1});
  const auto data = fashion_mnist(Split::train).shuffle(60'000).batch(8 * replicas);
  const Trainer trainer(runtime, strategy, examples::model_named(model), Adam{}, SoftmaxCrossEntropy{});
  Plan plan;
  const double make = seconds_of([&] { plan = trainer.training_plan(data); });
  const double check = seconds_of([&] { check_plan(plan); });
  const double live = seconds_of([&] { check_liveness(plan); });
  std::vector<SegmentLayout> layouts;
  const double layout = seconds_of([&] {
    for (const auto& segment : plan.segments) layouts.push_back(lay_out(plan, segment));
  });
  const double hash = seconds_of([&] { (void)hash_of(plan); });
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "%s, %d replicas, %zu actors: make %.2f s, check %.2f s, prove live %.2f s, lay out %.2f s, hash %.2f s, in all "
      "%.2f s; at most %ld MB\n",
      model.c_str(), replicas, plan.actors.size(), make, check, live, layout, hash, make + check + live + layout + hash,
      usage.ru_maxrss / 1024);
}

}  // namespace

int main(int argc, char** argv) {
  std::string model = "cnn";
  int replicas = 1'024;
  CLI::App app{"What the plan of many replicas costs each process"};
  app.add_option("--model", model, "mlp or cnn")->check(CLI::IsMember({"mlp", "cnn"}));
  app.add_option("--replicas", replicas, "each in a process of its own")->check(CLI::Range(1, 100'000));
  CLI11_PARSE(app, argc, argv);
  try {
    measure(model, replicas);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "plan_scale: " << error.what() << std::endl;
    return 1;
  }
}
