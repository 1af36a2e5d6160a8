#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "troupe/actors/messages/messages.hpp"
#include "troupe/actors/plan/checked_plan.hpp"

namespace troupe {

/// The actors that are spawned for one part of a plan, a process, and the numbers of their ports: its executors, and
/// for every other part with which it shares edges a proxy in place of all actors there. Both sides number the edges
/// that cross alike, since both see the whole plan.
class Wiring {
 public:
  /// One actor of the part: an executor with its segments, or the proxy for the part `peer`.
  struct Node {
    std::string name;
    std::vector<std::int32_t> segments = {};
    int peer = kNone;
    /// The part `peer` may be lost.
    bool expendable = false;
    std::vector<EdgeId> inputs = {};
    /// kNone for an output of an external actor that no actor reads.
    std::vector<EdgeId> outputs = {};
  };

  Wiring(const CheckedPlan& plan, int process);

  const std::vector<Node>& nodes() const { return nodes_; }
  /// The parts with which this part shares edges.
  std::vector<int> peers() const;
  /// The wires of every node, if `actors` are their actors.
  std::vector<Wire> wires(const std::vector<caf::actor>& actors) const;

 private:
  struct End {
    std::size_t node;
    std::uint32_t number;
    std::string name;
    bool on_host = true;
  };

  void add_executors(int process);
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

/// Spawns the proxy for all actors of another part of the plan: the consumer of the edges that lead there and the
/// producer of the edges that come from there. The proxy at the other end of the link does the reverse, so credits work
/// as between neighbors. A slot that was sent over the link is free only when the consumers in the other part have
/// returned it, and tensors that arrive lie in separate buffers, one for each slot.
caf::actor spawn_link_actor(caf::actor_system& system, const Wiring::Node& node, std::shared_ptr<Link> link);

}  // namespace troupe
