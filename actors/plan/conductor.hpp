#pragma once

#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/transport/collective_kind.hpp"

namespace troupe {

/// Adds the collectives of one communicator to a plan, and the conductors, the actors that begin the collectives: one
/// conductor for each process and collective. A conductor begins its collective for the ranks of its process once their
/// tensors have arrived and the conductor of the preceding index has fired; the first conductor of a step waits for the
/// last of the step before. So every process begins the collectives in the same order.
class Conductor {
 public:
  /// Adds a communicator to the plan. Rank r of the communicator belongs to replica r and is at `ranks[r]`. Collectives
  /// work on device memory if all ranks are on devices of one kind with memory of their own, and either all ranks are
  /// in one process or `all_reduce` is `hierarchy` or `nccl`. In all other cases the collectives run on the host, to
  /// which tensors on devices are copied. With `nccl`, throws Error if a rank is not on a GPU, or two ranks of a
  /// process share one.
  Conductor(Plan& plan, std::string communicator, std::vector<Place> ranks,
            AllReduceAlgorithm all_reduce = AllReduceAlgorithm::direct);

  /// Adds collective number `index` of a rank and returns its actor. The caller must connect the tensor of the
  /// collective as the first input of this actor. `info` describes the result; a collective that works in place
  /// computes it in the tensor of that input. All ranks must add the same indices.
  ActorId add(CollectiveKind kind, int index, int rank, const TensorInfo& info);
  /// Adds the conductors. The first input of every collective must be connected before. Throws Error if a rank has not
  /// added one of the collectives, or a gather has a result for another number of ranks.
  void finish();

 private:
  struct Part {
    ActorId actor;
    int rank;
  };
  ActorId add_conductor(std::size_t index, int process);
  void connect_ring(const std::vector<ActorId>& conductors);
  /// The place of a rank's collectives: the rank's device if they work on device memory, else the host side of its
  /// place.
  Place place_of(int rank) const;

  Plan& plan_;
  std::string communicator_;
  std::vector<Place> ranks_;
  bool on_devices_ = false;
  std::vector<std::vector<Part>> collectives_;  // by index: the actor of each rank that has been added
};

}  // namespace troupe
