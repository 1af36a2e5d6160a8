#pragma once

#include <array>
#include <atomic>
#include <caf/fwd.hpp>
#include <cstddef>
#include <cstdint>

namespace troupe {

/// The home worker of each actor: the worker, a thread of the actor system, whose cache holds the data of the actor's
/// replica. A table of fixed size, indexed by actor id. Actors whose ids share an entry have the same home worker, the
/// one that was set last; a wrong home worker costs time only. Thread-safe.
class HomeWorkers {
 public:
  void set(caf::actor_id actor, std::size_t worker) {
    homes_[actor % kEntries].store(static_cast<std::uint16_t>(worker + 1), std::memory_order_relaxed);
  }
  /// The home worker, counted from 0, of the actor that the job runs, or `otherwise` if none was set.
  std::size_t of(const caf::resumable* job, std::size_t otherwise) const {
    const auto home = homes_[id_of(job) % kEntries].load(std::memory_order_relaxed);
    return home == 0 ? otherwise : home - 1U;
  }

 private:
  static constexpr std::size_t kEntries = std::size_t{1} << 14;
  /// The id of the actor that the job runs; 0 if the job is not an actor.
  static caf::actor_id id_of(const caf::resumable* job);
  std::array<std::atomic<std::uint16_t>, kEntries> homes_{};
};

}  // namespace troupe
