#pragma once

#include <functional>
#include <string>
#include <vector>

#include "troupe/actors/plan/plan.hpp"

namespace troupe::testing {

/// Where a task throws.
enum class FaultPlace { begin, next_rows, fire };

struct Fault {
  ActorId actor = kNone;
  FaultPlace place = FaultPlace::fire;
  std::int64_t step = 0;
  /// Throws something.
  std::function<void()> raise;
};

/// Ways to throw, and the text that must come of it: exceptions of the standard library and of ours, and things that
/// are no exceptions.
struct Thrown {
  std::function<void()> raise;
  std::string text;
};
const std::vector<Thrown>& things_to_throw();

/// The plan with one task that throws. The actor must have a task, not be external.
Plan with_fault(Plan plan, const Fault& fault);

}  // namespace troupe::testing
