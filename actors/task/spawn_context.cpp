#include "troupe/actors/task/spawn_context.hpp"

#include "troupe/ops/core/error.hpp"

namespace troupe {

const Dataset& SpawnContext::source(const std::string& name) const {
  const auto found = sources.find(name);
  if (found == sources.end()) throw Error("spawn", "there is no data source '" + name + "'");
  return found->second;
}

const std::shared_ptr<Communicator>& SpawnContext::communicator(const std::string& name, std::int64_t rank) const {
  const auto found = communicators.find(name);
  if (found == communicators.end()) throw Error("spawn", "there is no communicator '" + name + "'");
  const auto& ranks = found->second;
  if (rank < 0 || static_cast<std::size_t>(rank) >= ranks.size() || !ranks[static_cast<std::size_t>(rank)])
    throw Error("spawn", "communicator '" + name + "' has no rank " + std::to_string(rank) + " here");
  return ranks[static_cast<std::size_t>(rank)];
}

const std::shared_ptr<DeviceCommunicator>& SpawnContext::device_communicator(const std::string& name) const {
  const auto found = device_communicators.find(name);
  if (found == device_communicators.end())
    throw Error("spawn", "there is no communicator '" + name + "' between devices");
  return found->second;
}

}  // namespace troupe
