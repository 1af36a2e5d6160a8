#include "troupe/actors/spawn/wiring.hpp"

#include <algorithm>
#include <set>

#include "troupe/actors/plan/segment_layout.hpp"

namespace troupe {

Wiring::Wiring(const CheckedPlan& plan, int process) : plan_(plan) {
  add_executors(process);
  add_proxies(process);
}

std::vector<int> Wiring::peers() const {
  std::vector<int> peers;
  for (const auto& node : nodes_)
    if (node.peer != kNone) peers.push_back(node.peer);
  return peers;
}

void Wiring::add_input(std::size_t node, EdgeId edge, const std::string& name, bool on_host) {
  auto& inputs = nodes_[node].inputs;
  consumers_[edge].push_back({node, static_cast<std::uint32_t>(inputs.size()), name, on_host});
  inputs.push_back(edge);
}

void Wiring::add_output(std::size_t node, EdgeId edge, const std::string& name) {
  auto& outputs = nodes_[node].outputs;
  if (edge != kNone) producers_[edge] = {node, static_cast<std::uint32_t>(outputs.size()), name};
  outputs.push_back(edge);
}

/// Names the executors of several segments: by their place, or by their first segment if the place has several such
/// executors.
void Wiring::name_executors() {
  std::map<Place, int> executors;
  const auto place_of = [&](const Node& node) { return plan_->segments[node.segments.front()].place; };
  for (const auto& node : nodes_)
    if (node.segments.size() > 1) ++executors[place_of(node)];
  for (auto& node : nodes_) {
    if (node.segments.size() < 2) continue;
    const auto place = place_of(node);
    node.name = executors[place] == 1 ? "executor of " + to_string(place)
                                      : node.name + " and " + std::to_string(node.segments.size() - 1) + " more";
  }
}

void Wiring::add_executors(int process) {
  std::map<std::int32_t, std::size_t> node_of;
  for (std::size_t i = 0; i < plan_->segments.size(); ++i) {
    const auto& segment = plan_->segments[i];
    if (segment.place.process != process) continue;
    const auto [at, is_new] = node_of.try_emplace(segment.executor, nodes_.size());
    if (is_new) nodes_.push_back({segment.name});
    nodes_[at->second].segments.push_back(static_cast<std::int32_t>(i));
  }
  name_executors();
  for (std::size_t number = 0; number < nodes_.size(); ++number) {
    for (auto index : nodes_[number].segments) {
      const auto& segment = plan_->segments[index];
      const auto& layout = plan_.layout(index);
      for (auto edge : layout.ports) add_input(number, edge, segment.name, is_host(segment.place.device));
      for (const auto& output : layout.outputs) add_output(number, output.edge, segment.name);
    }
  }
}

void Wiring::add_proxies(int process) {
  if (plan_->processes() == 1) return;
  std::map<int, std::size_t> node_of;
  const auto proxy_of = [&](int peer) {
    const auto [at, is_new] = node_of.try_emplace(peer, nodes_.size());
    if (is_new) {
      const bool expendable = std::ranges::find(plan_->expendable, peer) != plan_->expendable.end();
      nodes_.push_back({"link to process " + std::to_string(peer), {}, peer, expendable});
    }
    return at->second;
  };
  std::map<EdgeId, int> producer_of;
  std::map<EdgeId, std::set<int>> consumers_of;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(plan_->segments.size()); ++i) {
    const auto other = plan_->segments[i].place.process;
    for (const auto& output : plan_.layout(i).outputs)
      if (output.edge != kNone) producer_of[output.edge] = other;
    for (auto edge : plan_.layout(i).ports) consumers_of[edge].insert(other);
  }
  for (const auto& [edge, producer] : producer_of) {
    for (auto consumer : consumers_of[edge]) {
      if (consumer == producer) continue;
      if (producer == process) {
        const auto node = proxy_of(consumer);
        add_input(node, edge, nodes_[node].name, true);
      } else if (consumer == process) {
        const auto node = proxy_of(producer);
        add_output(node, edge, nodes_[node].name);
      }
    }
  }
}

InputWire Wiring::input_wire(EdgeId id, const std::vector<caf::actor>& actors) const {
  const auto& edge = plan_->edges[id];
  const auto& producer = producers_.at(id);
  return {{actors[producer.node], producer.number, 0},
          static_cast<std::uint32_t>(edge.capacity),
          static_cast<std::uint32_t>(edge.initial_tokens),
          edge.name,
          producer.name,
          plan_->actors[edge.producer].replica};
}

OutputWire Wiring::output_wire(EdgeId id, const std::vector<caf::actor>& actors) const {
  if (id == kNone) return {};
  const auto& edge = plan_->edges[id];
  OutputWire wire{.capacity = static_cast<std::uint32_t>(edge.capacity),
                  .initial_tokens = static_cast<std::uint32_t>(edge.initial_tokens),
                  .edge = edge.name,
                  .info = edge.info};
  for (const auto& consumer : consumers_.at(id)) {
    wire.consumers.push_back({actors[consumer.node], consumer.number, consumer.on_host});
    wire.consumer_names.push_back(consumer.name);
  }
  return wire;
}

std::vector<Wire> Wiring::wires(const std::vector<caf::actor>& actors) const {
  std::vector<Wire> wires(nodes_.size());
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    for (auto edge : nodes_[node].inputs) wires[node].inputs.push_back(input_wire(edge, actors));
    for (auto edge : nodes_[node].outputs) wires[node].outputs.push_back(output_wire(edge, actors));
  }
  for (const auto& [edge, consumers] : consumers_)
    for (std::size_t i = 0; i < consumers.size(); ++i)
      wires[consumers[i].node].inputs[consumers[i].number].producer.consumer = static_cast<std::uint32_t>(i);
  return wires;
}

}  // namespace troupe
