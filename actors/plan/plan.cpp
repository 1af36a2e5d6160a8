#include "troupe/actors/plan/plan.hpp"

#include <algorithm>
#include <sstream>

#include "troupe/ops/core/error.hpp"

namespace troupe {

ActorId Plan::add(PlanActor actor) {
  actors.push_back(std::move(actor));
  return static_cast<ActorId>(actors.size() - 1);
}

EdgeId Plan::edge_of(ActorId producer, std::int32_t output, std::int32_t capacity, std::int32_t initial_tokens) {
  auto& out = actors.at(producer).outputs.at(output);
  if (out.edge != kNone) return out.edge;
  if (capacity < 1 || initial_tokens < 0 || initial_tokens > capacity)
    throw Error("plan", "output " + std::to_string(output) + " of '" + actors[producer].name +
                            "' cannot have capacity " + std::to_string(capacity) + " and " +
                            std::to_string(initial_tokens) + " initial tokens");
  out.edge = static_cast<EdgeId>(edges.size());
  auto name = actors[producer].name;
  if (actors[producer].outputs.size() > 1) name += "." + std::to_string(output);
  edges.push_back({std::move(name), producer, output, {}, capacity, initial_tokens, out.info, kNone});
  return out.edge;
}

void Plan::connect(ActorId producer, std::int32_t output, ActorId consumer, std::int32_t capacity) {
  const auto edge = edge_of(producer, output, capacity);
  connect(edge, consumer, edges[edge].info, 0);
}

void Plan::connect(const OutputRef& from, ActorId consumer, std::int32_t capacity) {
  const auto edge = edge_of(from.actor, from.output, capacity);
  connect(edge, consumer, from.view.value_or(edges[edge].info), from.byte_offset);
}

void Plan::connect(EdgeId edge, ActorId consumer, const TensorInfo& info, std::size_t byte_offset) {
  auto& inputs = actors.at(consumer).inputs;
  edges.at(edge).consumers.push_back({consumer, static_cast<std::int32_t>(inputs.size())});
  inputs.push_back({edge, info, byte_offset, {}});
}

void Plan::hold(ActorId consumer, Tensor tensor) {
  const TensorInfo info{tensor.shape(), tensor.dtype()};
  actors.at(consumer).inputs.push_back({kNone, info, 0, std::move(tensor)});
}

bool is_paced(const Plan& plan, const PlanActor& actor) {
  return std::any_of(actor.inputs.begin(), actor.inputs.end(), [&](const PlanInput& input) {
    return input.edge != kNone && plan.edges[input.edge].initial_tokens == 0;
  });
}

bool is_source(const Plan& plan, const PlanActor& actor) {
  return actor.role == ActorRole::source || (actor.role == ActorRole::external && !is_paced(plan, actor));
}

namespace {

const char* name_of(ActorRole role) {
  constexpr const char* kNames[] = {"op", "source", "sink", "collective", "conductor", "external"};
  return kNames[static_cast<std::size_t>(role)];
}

}  // namespace

std::string to_text(const Plan& plan) {
  std::ostringstream out;
  for (const auto& actor : plan.actors) {
    out << name_of(actor.role) << " " << actor.name << " on " << to_string(actor.device) << " replica " << actor.replica
        << "\n";
    for (const auto& output : actor.outputs) {
      if (output.edge == kNone) continue;
      const auto& edge = plan.edges[output.edge];
      out << "  " << edge.name << ": " << to_string(edge.info) << ", capacity " << edge.capacity << ", tokens "
          << edge.initial_tokens << " ->";
      for (const auto& consumer : edge.consumers)
        out << " " << plan.actors[consumer.actor].name << "[" << consumer.input << "]";
      out << "\n";
    }
  }
  for (const auto& segment : plan.segments) {
    out << "segment " << segment.name << " on " << to_string(segment.device) << " host " << segment.host << ":";
    for (auto actor : segment.actors) out << " " << plan.actors[actor].name;
    out << "\n";
  }
  return out.str();
}

std::string to_dot(const Plan& plan) {
  std::ostringstream out;
  out << "digraph plan {\n  node [shape=box];\n";
  for (std::size_t i = 0; i < plan.segments.size(); ++i) {
    const auto& segment = plan.segments[i];
    out << "  subgraph cluster_" << i << " { label=\"" << segment.name << "\";";
    for (auto actor : segment.actors) out << " a" << actor << ";";
    out << " }\n";
  }
  for (std::size_t i = 0; i < plan.actors.size(); ++i)
    out << "  a" << i << " [label=\"" << plan.actors[i].name << "\\n" << to_string(plan.actors[i].device) << "\"];\n";
  for (const auto& edge : plan.edges)
    for (const auto& consumer : edge.consumers)
      out << "  a" << edge.producer << " -> a" << consumer.actor << " [label=\"" << edge.initial_tokens << "/"
          << edge.capacity << "\"];\n";
  out << "}\n";
  return out.str();
}

}  // namespace troupe
