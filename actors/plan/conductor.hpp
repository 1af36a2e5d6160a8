#pragma once

#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/transport/collective_kind.hpp"

namespace troupe {

/// Adds the collectives of one communicator to a plan, and the actors that put them in order: one conductor a process
/// and collective, which begins it for the ranks of its process when their tensors are there and the collective before
/// has been begun. So all ranks agree on the order by construction.
class Conductor {
 public:
  /// Names a communicator whose rank r belongs to replica r and lives at `ranks[r]`. If all of them are devices of one
  /// kind with memory of their own, tensors stay there where they are in one process or the algorithm can do without
  /// the host's memory; else they come to the host. Throws Error for sums over NCCL unless every rank has a GPU for
  /// itself.
  Conductor(Plan& plan, std::string communicator, std::vector<Place> ranks,
            AllReduceAlgorithm all_reduce = AllReduceAlgorithm::direct);

  /// Adds collective number `index` of a rank; the input must be connected first of all inputs. `info` is that of the
  /// result, which a collective in place has in place of its input. All ranks must add the same indices.
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
  /// Where the actors of a rank have their place.
  Place place_of(int rank) const;

  Plan& plan_;
  std::string communicator_;
  std::vector<Place> ranks_;
  bool on_devices_ = false;
  std::vector<std::vector<Part>> collectives_;  // by index
};

}  // namespace troupe
