#include "troupe/actors/task/spawn_context.hpp"

#include "troupe/ops/core/error.hpp"

namespace troupe {

const Dataset& SpawnContext::source(const std::string& name) const {
  const auto entry = sources.find(name);
  if (entry == sources.end()) throw Error("spawn", "there is no data source '" + name + "'");
  return entry->second;
}

const std::vector<std::shared_ptr<Communicator>>& SpawnContext::ends_of(const std::string& communicator) const {
  const auto ends = communicators.find(communicator);
  if (ends == communicators.end()) throw Error("spawn", "there is no communicator '" + communicator + "'");
  return ends->second;
}

}  // namespace troupe
