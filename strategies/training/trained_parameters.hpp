#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "troupe/actors/plan/plan_fwd.hpp"
#include "troupe/actors/store/parameter_store.hpp"

namespace troupe {

/// The parameters that actors of a plan update in the stores of this process. The copy of a parameter in the store of a
/// process without such an actor is as old as the last exchange of values, so it does not count.
class TrainedParameters {
 public:
  /// stores[i] is the store of process (or part) i; null if that is another process.
  TrainedParameters(const Stores& stores, const Plan& plan);

  /// Returns the largest number of updates among the newest whole copies of the parameters. Returns nothing if a
  /// parameter has no whole copy, or if there is none.
  std::optional<std::int64_t> updates() const;
  /// Notes the step after a run in the UpdateCounts of the plan, in all stores of this process.
  void note_step(std::int64_t step) const;

 private:
  std::vector<std::pair<std::shared_ptr<const ParameterStore>, std::string>> trained_;
  std::vector<std::pair<std::shared_ptr<ParameterStore>, std::string>> update_counts_;
};

}  // namespace troupe
