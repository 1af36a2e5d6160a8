#include "troupe/transport/all_reduce_algorithm.hpp"

#include <array>

#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

constexpr std::array kNames{"direct", "ring", "hierarchy", "mpi", "nccl"};

}  // namespace

std::string to_string(AllReduceAlgorithm algorithm) {
  return kNames.at(static_cast<std::size_t>(algorithm));
}

AllReduceAlgorithm all_reduce_algorithm_of(const std::string& name) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<AllReduceAlgorithm>(i);
  throw Error("all_reduce", "'" + name + "' is not an algorithm: there are direct, ring, hierarchy, mpi and nccl");
}

}  // namespace troupe
