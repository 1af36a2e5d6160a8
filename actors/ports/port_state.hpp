#pragma once

#include <cstddef>
#include <string>

#include "troupe/actors/ports/ports.hpp"

namespace troupe {

/// Returns a text on every input without a tensor, the number of held tensors, and every output without a free slot,
/// for an actor with its own firing rule, which does not tell which of them it waits for.
std::string state_of(const Ports& ports, std::size_t held);

}  // namespace troupe
