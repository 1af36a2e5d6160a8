#pragma once

#include <cstdint>
#include <memory>

#include "troupe/actors/plan/plan_fwd.hpp"
#include "troupe/ops/data/dataset.hpp"

namespace troupe {

class ParameterStore;
class Recording;
struct FitOptions;

/// What a fit writes, and what it repeats, if it does.
struct FitRecordings {
  std::shared_ptr<Recording> record;
  std::shared_ptr<const Recording> replay;
};

/// Those that the options ask for, of a fit by that plan on those data, from the parameters as they are. Throws Error
/// if a recording cannot be read, or is one of another program, other data or other parameters.
FitRecordings recordings_for(const FitOptions& options, const Plan& plan, const Dataset& data,
                             const ParameterStore& store);

/// xxh3 (64 bits) of what the samples are.
std::uint64_t hash_of_content(const Dataset& data);

}  // namespace troupe
