// The pipeline of pipeline.cpp with its source, transform and sink in three processes. The actors are the same; only
// their places differ.
//
//   mpirun -np 3 build/examples/pipeline_processes
//
// or three times by hand: pipeline_processes RANK WORLD_SIZE HOST:PORT

#include <iostream>

#include "troupe/actors/plan/grain.hpp"
#include "troupe/actors/plan/lower.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/examples/pipeline_actors.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/transport/membership/cluster.hpp"

using namespace troupe;
using namespace troupe::examples;

namespace {

/// The whole plan, which every process makes.
Plan make_plan(int processes) {
  GraphBuilder builder;
  builder.output("scaled", scale(builder.input("reading", kReading.shape), 10.0));
  const auto graph = std::move(builder).build();

  Plan plan;
  const auto sensor = plan.add(external<Sensor>("sensor", {.outputs = {kReading}}));
  const auto smoother = plan.add(external<Smoother>("smoother", {.inputs = {kReading}, .outputs = {kReading}}, 0.5F));
  const auto printer = plan.add(external<Printer>("printer", {.inputs = {kReading}}));
  plan.actors[smoother].place.process = 1 % processes;
  plan.actors[printer].place.process = 2 % processes;
  plan.connect(sensor, 0, smoother, 2);
  const auto ops = lower(plan, graph, {.place = plan.actors[smoother].place, .inputs = {{"reading", {smoother, 0}}}});
  plan.connect(ops.at("scaled"), printer);
  return split(std::move(plan));
}

void run(const JobFlags& flags) {
  const auto job = resolve_job(flags);
  const Runtime runtime;
  if (job.world_size == 1) {
    SpawnedPlan spawned(runtime, make_plan(1));
    spawned.start({});
    return spawned.wait();
  }
  const auto cluster = join_cluster({.job = job});
  {
    SpawnedPlan spawned({runtime, {}}, make_plan(cluster->size()), cluster);
    spawned.start({});
    spawned.wait();
  }
  cluster->leave();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    JobFlags flags;
    if (argc == 4) flags = {std::stoi(argv[1]), std::stoi(argv[2]), argv[3]};
    run(flags);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "pipeline_processes: " << error.what() << std::endl;
    return 1;
  }
}
