#pragma once

#include <chrono>

#include "troupe/ops/data/dataset.hpp"

namespace troupe {

class Cluster;
class Communicator;

/// Compares the data of all processes of a cluster. Where each process has samples of its own, the result has the
/// layout of all. All processes call this. Throws Error on all of them that names the first difference, if they share
/// the data differently, have other fields, or have different samples where these must be equal.
Dataset shared_data(const Dataset& data, Cluster& cluster, Communicator& processes, std::chrono::milliseconds limit);

}  // namespace troupe
