#include "troupe/transport/collective_kind.hpp"

#include <string>

#include "troupe/ops/core/error.hpp"

namespace troupe {

CollectiveKind collective_kind_of(std::string_view name) {
  for (std::size_t kind = 0; kind < kCollectiveForms.size(); ++kind)
    if (kCollectiveForms[kind].name == name) return static_cast<CollectiveKind>(kind);
  throw Error("collective", "there is no collective '" + std::string(name) + "'");
}

}  // namespace troupe
