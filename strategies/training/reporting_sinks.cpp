#include "troupe/strategies/training/reporting_sinks.hpp"

#include <map>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

void expect_sinks(const Plan& plan, const std::string& kind, std::span<const int> replicas) {
  std::map<int, int> sinks;
  for (const auto& actor : plan.actors)
    if (actor.task.kind == kind) ++sinks[actor.replica];
  for (const auto replica : replicas)
    if (sinks[replica] != 1)
      throw Error("strategy", "the plan has " + std::to_string(sinks[replica]) + " sinks of replica " +
                                  std::to_string(replica) + ", and needs one: add_sink() adds it, and " +
                                  "Strategy::reporting_replicas() says which replicas report");
}

}  // namespace troupe
