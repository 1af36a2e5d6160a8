#include "troupe/transport/job/process_role.hpp"

#include <array>

#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

constexpr std::array kNames{"any", "chief", "ps", "worker", "evaluator"};

}  // namespace

std::string to_string(ProcessRole role) {
  return kNames.at(static_cast<std::size_t>(role));
}

ProcessRole process_role_of(const std::string& name) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (name == kNames[i]) return static_cast<ProcessRole>(i);
  throw Error("cluster", "there is no role '" + name + "', only chief, ps, worker, evaluator and any");
}

}  // namespace troupe
