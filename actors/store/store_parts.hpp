#pragma once

#include <memory>
#include <vector>

#include "troupe/actors/store/parameter_store.hpp"

namespace troupe {

using Stores = std::vector<std::shared_ptr<ParameterStore>>;

/// Sets the stores of the parts of one training to the newest values that any of them has. Does nothing if a store is
/// broken. Throws Error while a run writes to a store.
void synchronize(const Stores& stores);

/// Replaces broken copies by the newest whole copy in any of the stores. Throws Error if there is none.
void recover(const Stores& stores);

}  // namespace troupe
