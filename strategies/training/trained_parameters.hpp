#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/plan/plan_fwd.hpp"

namespace troupe {

class ParameterStore;

/// The parameters in a store that the actors of a plan update.
class TrainedParameters {
 public:
  TrainedParameters(std::shared_ptr<ParameterStore> store, const Plan& plan);

  /// Returns the largest number of updates among the newest whole copies of the parameters. Returns nothing if a
  /// parameter has no whole copy, or if there is none.
  std::optional<std::int64_t> updates() const;

 private:
  std::shared_ptr<ParameterStore> store_;
  std::vector<std::string> names_;
};

}  // namespace troupe
