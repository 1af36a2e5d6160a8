#pragma once

#include <chrono>

#include "troupe/ops/data/dataset.hpp"

namespace troupe {

class Cluster;
class Communicator;

/// The processes of a cluster say what data they have, and learn what they need of each other's: where each has samples
/// of its own, the layout of all. All call it. Throws Error on all that names the first difference if they share the
/// data differently, or have different samples where these must be the same, or other fields.
Dataset shared_data(const Dataset& data, Cluster& cluster, Communicator& processes, std::chrono::milliseconds limit);

}  // namespace troupe
