#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "troupe/actors/messages/messages.hpp"
#include "troupe/actors/plan/checked_plan.hpp"

namespace troupe {

/// The actors that are spawned for one part of a plan, that is in one process, and the edges of their ports. The actors
/// are the executors of the part and, for every other part with which this part shares edges, a proxy that stands for
/// all actors of the other part. The proxies at both ends of a link identify an edge by its id, which is the same in
/// both parts since each process has the whole plan.
class Wiring {
 public:
  /// One actor of the part: an executor with its segments, or the proxy for the part `peer`.
  struct Node {
    std::string name;
    std::vector<std::int32_t> segments = {};
    int peer = kNone;
    /// The run goes on if the part `peer` is lost.
    bool expendable = false;
    std::vector<EdgeId> inputs = {};
    /// The edge of each output. It is kNone for an output of an external actor (ActorRole::external) that no actor
    /// reads.
    std::vector<EdgeId> outputs = {};
  };

  Wiring(const CheckedPlan& plan, int process);

  const std::vector<Node>& nodes() const { return nodes_; }
  /// The parts with which this part shares edges.
  std::vector<int> peers() const;
  /// Returns a Wire for every node, in the order of nodes(): the message that connects the ports of an actor. actors[i]
  /// must be the actor of node i.
  std::vector<Wire> wires(const std::vector<caf::actor>& actors) const;

 private:
  struct End {
    std::size_t node;
    std::uint32_t number;
    std::string name;
    bool on_host = true;
  };

  void add_executors(int process);
  void name_executors();
  void add_proxies(int process);
  void add_input(std::size_t node, EdgeId edge, const std::string& name, bool on_host);
  void add_output(std::size_t node, EdgeId edge, const std::string& name);
  InputWire input_wire(EdgeId id, const std::vector<caf::actor>& actors) const;
  OutputWire output_wire(EdgeId id, const std::vector<caf::actor>& actors) const;

  CheckedPlan plan_;
  std::vector<Node> nodes_;
  std::map<EdgeId, std::vector<End>> consumers_;
  std::map<EdgeId, End> producers_;
};

/// Spawns the proxy for all actors of another part of the plan. In this part the proxy is the consumer of the edges
/// that lead to the other part, and the producer of the edges that come from it. A proxy at the other end of the link
/// does the reverse, so the credit protocol (see Ports) works as within one part: a producer sends a tensor only in a
/// free slot of the edge, and a slot that was sent over the link is free only when the consumers in the other part have
/// returned it. Tensors that arrive lie in separate buffers, one for each slot.
caf::actor spawn_link_actor(caf::actor_system& system, const Wiring::Node& node, std::shared_ptr<Link> link);

}  // namespace troupe
