#include "troupe/actors/plan/held_together.hpp"

#include <map>
#include <string>

#include "troupe/actors/plan/plan.hpp"

namespace troupe {

namespace {

template <class Visit>
void for_each_written(const Plan& plan, Visit visit) {
  for (const auto& actor : plan.actors)
    for (const auto& held : actor.parameters)
      if (held.written) visit(held, actor.place.process);
}

}  // namespace

std::set<ParameterRef> held_together(const Plan& plan, int process) {
  std::map<std::string, std::set<int>> holders;
  std::set<int> in_step;
  for_each_written(plan, [&](const HeldParameter& held, int holder) {
    holders[held.ref.name].insert(holder);
    if (held.equal_updates) in_step.insert(holder);
  });
  std::set<ParameterRef> copies;
  for_each_written(plan, [&](const HeldParameter& held, int holder) {
    const bool is_split = held.rows && holders.at(held.ref.name).size() > 1;
    if (holder == process && (is_split || (held.equal_updates && in_step.size() > 1))) copies.insert(held.ref);
  });
  return copies;
}

}  // namespace troupe
