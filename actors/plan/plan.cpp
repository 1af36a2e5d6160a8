#include "troupe/actors/plan/plan.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

template <class Vector>
auto& at(Vector& items, std::int32_t id, const std::string& kind) {
  if (id < 0 || static_cast<std::size_t>(id) >= items.size())
    throw Error("plan", "there is no " + kind + " " + std::to_string(id) + " among " + std::to_string(items.size()));
  return items[static_cast<std::size_t>(id)];
}

}  // namespace

ActorId Plan::add(PlanActor actor) {
  if (actor.role == ActorRole::source) actor.pacing = Pacing::source;
  actors.push_back(std::move(actor));
  return static_cast<ActorId>(actors.size() - 1);
}

void Plan::add_parameter(PlanParameter parameter) {
  const auto present = std::ranges::find(parameters, parameter.ref, &PlanParameter::ref);
  if (present == parameters.end()) {
    parameters.push_back(std::move(parameter));
  } else if (!(present->info == parameter.info)) {
    throw Error("plan", "parameter '" + parameter.ref.name + "' is " + to_string(present->info) + ", not " +
                            to_string(parameter.info));
  }
}

EdgeId Plan::edge_of(ActorId producer, std::int32_t output, std::int32_t capacity, std::int32_t initial_tokens) {
  auto& actor = at(actors, producer, "actor");
  auto& out = at(actor.outputs, output, "output of '" + actor.name + "' with number");
  if (out.edge != kNone) return out.edge;
  if (capacity < 1 || initial_tokens < 0 || initial_tokens > capacity)
    throw Error("plan", "output " + std::to_string(output) + " of '" + actor.name + "' cannot have capacity " +
                            std::to_string(capacity) + " and " + std::to_string(initial_tokens) + " initial tokens");
  out.edge = static_cast<EdgeId>(edges.size());
  auto name = actor.name;
  if (actor.outputs.size() > 1) name += "." + std::to_string(output);
  edges.push_back({std::move(name), producer, output, {}, capacity, initial_tokens, out.info, kNone});
  return out.edge;
}

void Plan::add_edges(ActorId producer, std::int32_t capacity) {
  const auto outputs = static_cast<std::int32_t>(actor(producer).outputs.size());
  for (std::int32_t output = 0; output < outputs; ++output) edge_of(producer, output, capacity);
}

void Plan::connect(ActorId producer, std::int32_t output, ActorId consumer, std::int32_t capacity) {
  connect(OutputRef{producer, output}, consumer, capacity);
}

void Plan::connect(const OutputRef& from, ActorId consumer, std::int32_t capacity) {
  const auto id = edge_of(from.actor, from.output, capacity);
  connect(id, consumer, from.view.value_or(edges[id].info), from.byte_offset);
}

void Plan::connect(EdgeId edge, ActorId consumer, const TensorInfo& info, std::size_t byte_offset) {
  auto& inputs = at(actors, consumer, "actor").inputs;
  at(edges, edge, "edge").consumers.push_back({consumer, static_cast<std::int32_t>(inputs.size())});
  inputs.push_back({edge, info, byte_offset});
}

const PlanActor& Plan::actor(ActorId id) const {
  return at(actors, id, "actor");
}

const PlanEdge& Plan::edge(EdgeId id) const {
  return at(edges, id, "edge");
}

int Plan::processes() const {
  int last = 0;
  for (const auto& actor : actors) last = std::max(last, actor.place.process);
  return last + 1;
}

}  // namespace troupe
