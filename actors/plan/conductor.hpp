#pragma once

#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/transport/collective_kind.hpp"

namespace troupe {

/// Adds the collectives of one communicator to a plan, and the actors that put them in order: one conductor for each
/// process and collective. A conductor begins its collective for the ranks of its process once their tensors have
/// arrived and the collective before has begun, so all ranks agree on the order by construction.
class Conductor {
 public:
  /// Names a communicator whose rank r belongs to replica r and lives at `ranks[r]`. Tensors stay on the devices if all
  /// ranks are devices of one kind with memory of their own, and are in one process or have an algorithm that does
  /// without the host's memory; else tensors come to the host. Throws Error for sums over NCCL unless every rank has a
  /// GPU for itself.
  Conductor(Plan& plan, std::string communicator, std::vector<Place> ranks,
            AllReduceAlgorithm all_reduce = AllReduceAlgorithm::direct);

  /// Adds collective number `index` of a rank; its input must be connected before all other inputs. `info` describes
  /// the result, which replaces the input of a collective that works in place. All ranks must add the same indices.
  ActorId add(CollectiveKind kind, int index, int rank, const TensorInfo& info);
  /// Adds the conductors, after every collective's input is connected. Throws Error if a rank lacks a collective.
  void finish();

 private:
  struct Part {
    ActorId actor;
    int rank;
  };
  ActorId add_conductor(std::size_t index, int process);
  void connect_ring(const std::vector<ActorId>& conductors);
  /// The place of a rank's actors.
  Place place_of(int rank) const;

  Plan& plan_;
  std::string communicator_;
  std::vector<Place> ranks_;
  bool on_devices_ = false;
  std::vector<std::vector<Part>> collectives_;  // by index
};

}  // namespace troupe
