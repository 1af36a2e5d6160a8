#include "troupe/actors/plan/share_executors.hpp"

#include <algorithm>
#include <map>

#include "troupe/actors/plan/chains.hpp"
#include "troupe/actors/plan/reachability.hpp"
#include "troupe/actors/plan/segment_layout.hpp"

namespace troupe {

namespace {

std::vector<Succession> tensors_with(const Dependencies& dependencies, std::int32_t tokens) {
  std::vector<Succession> successions;
  for (const auto& dependency : dependencies.all())
    if (dependency.kind == Dependency::Kind::data && dependency.tokens == tokens && dependency.from != dependency.to)
      successions.emplace_back(dependency.from, dependency.to);
  return successions;
}

class ExecutorSharing {
 public:
  ExecutorSharing(Plan& plan, const Dependencies& dependencies)
      : ExecutorSharing(plan, dependencies, tensors_with(dependencies, 0)) {}

  void share() {
    for (auto& segment : plan_.segments) {
      const auto executor = may_share(segment) ? executor_for(segment) : kNone;
      if (executor != kNone) segment.executor = executor;
      members_[segment.executor].push_back(&segment);
      for (const auto actor : segment.actors) executor_of_[actor] = segment.executor;
    }
    number_from_zero();
  }

 private:
  ExecutorSharing(Plan& plan, const Dependencies& dependencies, const std::vector<Succession>& in_step)
      : plan_(plan),
        within_(plan.actors.size(), dependencies.order(), in_step),
        across_(Reachability::with_one_of(tensors_with(dependencies, 1), within_, dependencies.order(), in_step)),
        executor_of_(plan.actors.size(), kNone) {}

  bool may_share(const PlanSegment& segment) const {
    return is_host(segment.place.device) &&
           std::ranges::all_of(segment.actors, [&](ActorId id) { return can_contract(plan_.actors[id]); });
  }

  /// Returns the executor that the segment may share and that computes most bytes of its inputs, or kNone.
  std::int32_t executor_for(const PlanSegment& segment) const {
    std::map<std::int32_t, std::size_t> bytes;
    for (const auto actor : segment.actors)
      for (const auto& input : plan_.actors[actor].inputs) {
        if (input.edge == kNone || plan_.edges[input.edge].initial_tokens > 0) continue;
        const auto executor = executor_of_[plan_.edges[input.edge].producer];
        if (executor != kNone) bytes[executor] += bytes_of(input.info, plan_.max_rows);
      }
    std::erase_if(bytes, [&](const auto& entry) { return !fits(segment, members_.at(entry.first)); });
    const auto most = std::ranges::max_element(bytes, {}, [](const auto& entry) { return entry.second; });
    return most != bytes.end() ? most->first : kNone;
  }

  /// Each of the members comes before the next one in a step. So a segment that follows the last one follows all, and
  /// one that comes before the first one in the next step comes before all.
  bool fits(const PlanSegment& segment, const std::vector<const PlanSegment*>& members) const {
    const auto &first = *members.front(), &last = *members.back();
    return may_share(first) && first.place == segment.place &&
           within_.reaches(last_large(last), segment.actors.front()) &&
           std::ranges::any_of(first.actors, [&](ActorId id) { return across_.reaches(segment.actors.back(), id); });
  }

  ActorId last_large(const PlanSegment& segment) const {
    const auto large = std::find_if(segment.actors.rbegin(), segment.actors.rend(),
                                    [&](ActorId id) { return !is_small(plan_, plan_.actors[id]); });
    return large != segment.actors.rend() ? *large : segment.actors.back();
  }

  void number_from_zero() {
    std::map<std::int32_t, std::int32_t> numbers;
    for (auto& segment : plan_.segments)
      segment.executor = numbers.try_emplace(segment.executor, static_cast<std::int32_t>(numbers.size())).first->second;
  }

  Plan& plan_;
  Reachability within_, across_;           // paths within a step, and from one step to the next
  std::vector<std::int32_t> executor_of_;  // by actor; kNone for actors of segments that come later
  std::map<std::int32_t, std::vector<const PlanSegment*>> members_;  // by executor
};

}  // namespace

void share_executors(Plan& plan, const Dependencies& dependencies) {
  ExecutorSharing(plan, dependencies).share();
}

}  // namespace troupe
