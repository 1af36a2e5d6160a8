#include "troupe/actors/plan/plan_dot.hpp"

#include <algorithm>
#include <sstream>

#include "troupe/actors/plan/grain.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

PlanActor actor_with_output(const std::string& name, const Shape& shape) {
  PlanActor actor{.name = name};
  actor.outputs.push_back({.info = {shape, DType::float32}});
  return actor;
}

/// A loader, an op and the update of the op's parameter, for four rows.
Plan small_plan() {
  Plan plan;
  plan.max_rows = 4;
  auto loader = actor_with_output("loader", {kBatch, 2});
  loader.role = ActorRole::source;
  auto update = actor_with_output("update", {4});
  update.task.call = OpCall{&kSgdUpdate, {}, {}, {}};
  const auto source = plan.add(std::move(loader));
  const auto op = plan.add(actor_with_output("gradient \"g\"", {3}));
  const auto last = plan.add(std::move(update));
  plan.connect(source, 0, op, 2);
  plan.connect(op, 0, last);
  plan.connect(plan.edge_of(last, 0, 1, 1), op, {Shape{4}, DType::float32}, 0);
  return plan;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// The number of lines with a text.
std::ptrdiff_t lines_with(const std::string& dot, const std::string& text) {
  return std::ranges::count_if(lines_of(dot),
                               [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

constexpr auto kHead = R"(digraph plan {
  rankdir=LR;
  newrank=true;
  node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=11, color="#6b7280"];
  edge [fontname="Helvetica", fontsize=9, color="#6b7280"];
)";

}  // namespace

TEST_CASE("a plan is drawn with a box for every actor in the frame of its replica") {
  CHECK(to_dot(small_plan()) == std::string(kHead) +
                                    R"(  subgraph cluster_0 {
    label="replica 0"; style=rounded; color="#9ca3af"; fontname="Helvetica"; fontsize=11;
    b0 [label="loader\ncpu:0", fillcolor="#cfe8cf"];
    b1 [label="gradient \"g\"\ncpu:0", fillcolor="#dbe7f7"];
    b2 [label="update\ncpu:0", fillcolor="#fbe0c3"];
  }
  { rank=same; b0; }
  { rank=same; b2; }
  b0 -> b1 [label="32 B, 2 slots"];
  b1 -> b2 [label="12 B"];
  b2 -> b1 [label="● 16 B", constraint=false];
}
)");
}

TEST_CASE("a plan is drawn with a box for every segment, without frames, with numbers") {
  auto plan = small_plan();
  plan.segments = {{"'loader' to 'gradient'", {}, {0, 1}}, {"update", {}, {2}}};
  CHECK(to_dot(plan, {.level = DotLevel::segments, .lanes = DotLanes::none, .numbered = true}) ==
        std::string(kHead) +
            R"(  b0 [label="'loader' to 'gradient'\n1 source, 1 op\ncpu:0", fillcolor="#dbe7f7"];
  b1 [label="update\ncpu:0", fillcolor="#fbe0c3"];
  { rank=same; b0; }
  { rank=same; b1; }
  b0 -> b1 [label="1: 12 B"];
  b1 -> b0 [label="2: ● 16 B", constraint=false];
}
)");
}

TEST_CASE("edges between two segments are one arrow, and edges that carry no data are dashed") {
  Plan plan;
  auto source = actor_with_output("source", {256});
  source.outputs.push_back({.info = {Shape{256, 1024, 2}, DType::float32}});
  const auto from = plan.add(std::move(source));
  auto control = actor_with_output("control", {1});
  control.outputs[0].info = control_info();
  const auto middle = plan.add(std::move(control));
  const auto to = plan.add(PlanActor{.name = "sink", .role = ActorRole::sink});
  plan.connect(from, 0, middle);
  plan.connect(from, 1, middle);
  plan.connect(plan.edge_of(middle, 0, 4, 4), to, control_info(), 0);
  plan.segments = {{"source", {}, {0}}, {"control", {}, {1}}, {"sink", {}, {2}}};
  const auto dot = to_dot(plan, {.level = DotLevel::segments});
  CHECK_THAT(dot, Contains("b0 -> b1 [label=\"2 edges, 2.0 MiB\"];"));
  CHECK_THAT(dot, Contains("b1 -> b2 [label=\"●×4 4 slots\", constraint=false, style=dashed];"));
  CHECK_THAT(to_dot(plan), Contains("b0 -> b1 [label=\"2 edges, 2.0 MiB\"];"));
}

TEST_CASE("a plan without segments has no picture by segments") {
  CHECK_THROWS_AS(to_dot(small_plan(), {.level = DotLevel::segments}), Error);
}

TEST_CASE("the picture of two replicas has a frame for each, and their conductors lie outside") {
  const auto data = small_dataset(40).batch(8);
  const auto plan = fuse(Mirrored(two_places()).training_plan({small_spec(), data, 0, {names::kLoss}}));
  for (const auto level : {DotLevel::actors, DotLevel::segments}) {
    const auto dot = to_dot(plan, {.level = level});
    const auto boxes = level == DotLevel::actors ? plan.actors.size() : plan.segments.size();
    CHECK(lines_with(dot, "fillcolor=") == static_cast<std::ptrdiff_t>(boxes));
    CHECK(lines_with(dot, "subgraph cluster_") == 2);
    CHECK(lines_with(dot, "rank=same") == 2);
    CHECK(lines_with(dot, "●") > 0);
    for (const auto& line : lines_of(dot)) {
      if (line.find("conductor0") != std::string::npos) CHECK(line.starts_with("  b"));
      if (line.find("all_reduce0") != std::string::npos) CHECK(line.starts_with("    b"));
      if (line.find("●") != std::string::npos) CHECK(line.find("constraint=false") != std::string::npos);
    }
  }
}

TEST_CASE("a shard that serves two workers lies outside of their frames and is drawn as an update") {
  const auto data = small_dataset(40).batch(8);
  const ParameterServer strategy(two_places(), {Place{}}, ConsistencyRule::synchronous(2));
  const auto dot = to_dot(fuse(strategy.training_plan({small_spec(), data, 0, {names::kLoss}})));
  for (const auto& line : lines_of(dot)) {
    if (line.find("shard@0") == std::string::npos) continue;
    CHECK(line.starts_with("  b"));
    CHECK(line.find("#fbe0c3") != std::string::npos);
  }
  CHECK(lines_with(dot, "shard@0") == 1);
}
