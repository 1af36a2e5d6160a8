#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "troupe/actors/plan/plan.hpp"

namespace troupe {

/// An edge from the first actor to the second.
using Succession = std::pair<ActorId, ActorId>;

/// A table of one bit for every pair of actors of a directed graph without cycles: whether the second can be reached
/// from the first.
class Reachability {
 public:
  /// The largest number of actors for which a plan is analyzed by such a table, which then takes 128 MiB.
  static constexpr std::size_t kMostActors = 32'768;
  /// Throws Error if there are more than kMostActors actors.
  static void expect_at_most(std::size_t actors);

  /// Marks every pair that is joined by a path of at least one edge. `order` must be a topological order; actors that
  /// are missing from `order` reach nothing. Edges of an actor to itself do not count. Throws Error if there are more
  /// than kMostActors actors.
  Reachability(std::size_t actors, const std::vector<ActorId>& order, const std::vector<Succession>& edges);

  /// Marks every pair that is joined by a path of exactly one edge of `across` and any number of edges of `edges`.
  /// `order` must be a topological order of `edges`, and `within` the table of `edges`.
  static Reachability with_one_of(const std::vector<Succession>& across, const Reachability& within,
                                  const std::vector<ActorId>& order, const std::vector<Succession>& edges);

  /// True if the pair is marked.
  bool reaches(ActorId from, ActorId to) const { return (row(from)[word(to)] >> bit(to) & 1) != 0; }

 private:
  explicit Reachability(std::size_t actors);

  static std::size_t word(ActorId actor) { return static_cast<std::size_t>(actor) / 64; }
  static unsigned bit(ActorId actor) { return static_cast<unsigned>(actor) % 64; }
  const std::uint64_t* row(ActorId actor) const { return &bits_[static_cast<std::size_t>(actor) * words_]; }
  void add(ActorId from, ActorId to);
  void add_all(ActorId from, const std::uint64_t* others);

  std::size_t actors_, words_;
  std::vector<std::uint64_t> bits_;
};

}  // namespace troupe
