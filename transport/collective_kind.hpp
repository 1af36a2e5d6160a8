#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "troupe/ops/core/error.hpp"

namespace troupe {

/// The kinds of collectives. Frames between processes carry the numeric values, so all processes must use the same
/// ones.
enum class CollectiveKind : std::uint8_t { all_reduce, broadcast, all_gather, reduce_scatter, barrier, scatter };

/// The size of the output of each rank, in elements.
enum class OutputSize : std::uint8_t {
  in_place,   ///< no output: the result, if any, overwrites the input
  gathered,   ///< all elements of the inputs of all ranks
  scattered,  ///< the part of this rank: the input is cut into one equal part per rank
};

/// The properties of a kind of collective.
struct CollectiveForm {
  const char* name;
  OutputSize output = OutputSize::in_place;
  bool sums = false;       ///< the result is a sum over ranks
  bool has_root = false;   ///< the result depends on the choice of one rank, the root
  bool one_input = false;  ///< only the root has an input
};

/// The properties of every kind, indexed by the value of CollectiveKind.
inline constexpr std::array kCollectiveForms{
    CollectiveForm{.name = "all_reduce", .sums = true},
    CollectiveForm{.name = "broadcast", .has_root = true},
    CollectiveForm{.name = "all_gather", .output = OutputSize::gathered},
    CollectiveForm{.name = "reduce_scatter", .output = OutputSize::scattered, .sums = true},
    CollectiveForm{.name = "barrier"},
    CollectiveForm{.name = "scatter", .output = OutputSize::scattered, .has_root = true, .one_input = true},
};

constexpr const CollectiveForm& form_of(CollectiveKind kind) {
  return kCollectiveForms[static_cast<std::size_t>(kind)];
}

/// Whether rank `rank` has an input in a collective with root `root`.
constexpr bool has_input(CollectiveKind kind, int rank, int root) {
  return !form_of(kind).one_input || rank == root;
}

/// Returns the number of elements of a rank's output if the input has `elements` elements and the group has `ranks`
/// ranks. Returns 0 if the kind has no output, OutputSize::in_place.
constexpr std::int64_t output_elements(CollectiveKind kind, std::int64_t elements, int ranks) {
  const auto output = form_of(kind).output;
  return output == OutputSize::gathered ? elements * ranks : output == OutputSize::scattered ? elements / ranks : 0;
}

/// Returns the kind named `name`. Throws Error if there is none.
inline CollectiveKind collective_kind_of(std::string_view name) {
  for (std::size_t kind = 0; kind < kCollectiveForms.size(); ++kind)
    if (kCollectiveForms[kind].name == name) return static_cast<CollectiveKind>(kind);
  throw Error("collective", "there is no collective '" + std::string(name) + "'");
}

}  // namespace troupe
