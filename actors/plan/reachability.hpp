#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "troupe/actors/plan/plan.hpp"

namespace troupe {

/// From whom to whom.
using Succession = std::pair<ActorId, ActorId>;

/// Which actors of a directed graph without cycles can be reached from which: a table of one bit a pair.
class Reachability {
 public:
  /// Plans with more actors are too large for tables of their pairs.
  static constexpr std::size_t kMostActors = 8192;

  /// By paths of at least one edge. `order` is topological; actors that are missing in it reach nothing. Edges of an
  /// actor to itself do not count.
  Reachability(std::size_t actors, const std::vector<ActorId>& order, const std::vector<Succession>& edges);

  /// By paths of the edges of `within` with exactly one edge of `across` among them.
  static Reachability with_one_of(const std::vector<Succession>& across, const Reachability& within,
                                  const std::vector<ActorId>& order, const std::vector<Succession>& edges);

  /// True if there is such a path.
  bool reaches(ActorId from, ActorId to) const { return (row(from)[word(to)] >> bit(to) & 1) != 0; }

 private:
  explicit Reachability(std::size_t actors) : actors_(actors), words_(actors / 64 + 1), bits_(actors * words_, 0) {}

  static std::size_t word(ActorId actor) { return static_cast<std::size_t>(actor) / 64; }
  static unsigned bit(ActorId actor) { return static_cast<unsigned>(actor) % 64; }
  const std::uint64_t* row(ActorId actor) const { return &bits_[static_cast<std::size_t>(actor) * words_]; }
  void add(ActorId from, ActorId to);
  void add_all(ActorId from, const std::uint64_t* others);

  std::size_t actors_, words_;
  std::vector<std::uint64_t> bits_;
};

}  // namespace troupe
