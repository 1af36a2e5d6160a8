#include "troupe/actors/plan/own_rule_waits.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "troupe/actors/plan/chains.hpp"

namespace troupe {

namespace {

using Actors = std::set<ActorId>;

/// The senders and readers of actors with their own rule that count as one.
struct Ends {
  Actors senders, readers;
};

const PlanActor& actor_at(const Plan& plan, ActorId actor) {
  return plan.actors[static_cast<std::size_t>(actor)];
}

bool fires_by_own_rule(const Plan& plan, ActorId actor) {
  return actor_at(plan, actor).rule == FiringRule::own;
}

bool are_together(const Plan& plan, ActorId a, ActorId b) {
  return actor_at(plan, a).place == actor_at(plan, b).place && actor_at(plan, a).replica == actor_at(plan, b).replica;
}

/// Returns the ends of all actors with their own rule. Such actors that send to each other count as one. The senders of
/// an actor that sends to another one are senders of the other one, too.
std::vector<Ends> ends_of(const Plan& plan, std::span<const Dependency> own_rules) {
  Followers between(plan.actors.size());
  for (const auto& [from, to, edge, kind, tokens] : own_rules)
    if (fires_by_own_rule(plan, from) && fires_by_own_rule(plan, to))
      between[static_cast<std::size_t>(from)].push_back(to);
  const auto component = components_of(between);
  std::map<std::size_t, Ends> ends;
  for (const auto& [from, to, edge, kind, tokens] : own_rules) {
    if (!fires_by_own_rule(plan, from)) ends[component[static_cast<std::size_t>(to)]].senders.insert(from);
    if (!fires_by_own_rule(plan, to)) ends[component[static_cast<std::size_t>(from)]].readers.insert(to);
  }
  for (bool changed = true; std::exchange(changed, false);)
    for (std::size_t from = 0; from < between.size(); ++from)
      for (const auto to : between[from])
        for (const auto sender : Actors(ends[component[from]].senders))
          changed |= ends[component[static_cast<std::size_t>(to)]].senders.insert(sender).second;
  std::vector<Ends> all;
  for (auto& [number, each] : ends)
    if (!each.senders.empty() && !each.readers.empty()) all.push_back(std::move(each));
  return all;
}

/// Calls `visit` for `start` and all actors that can be reached from it by `followers`.
template <class Visit>
void visit_all(ActorId start, const Followers& followers, Visit visit) {
  std::vector<bool> seen(followers.size(), false);
  std::vector<ActorId> next{start};
  while (!next.empty()) {
    const auto actor = next.back();
    next.pop_back();
    if (seen[static_cast<std::size_t>(actor)]) continue;
    seen[static_cast<std::size_t>(actor)] = true;
    visit(actor);
    for (const auto follower : followers[static_cast<std::size_t>(actor)]) next.push_back(follower);
  }
}

Followers reversed(const Followers& followers) {
  Followers result(followers.size());
  for (std::size_t from = 0; from < followers.size(); ++from)
    for (const auto to : followers[from]) result[static_cast<std::size_t>(to)].push_back(static_cast<ActorId>(from));
  return result;
}

/// Finds the waits through actors with their own rule in a plan.
class WaitSearch {
 public:
  /// `followers` has the dependencies, `all` also the waits that are known.
  WaitSearch(const Plan& plan, const Followers& followers, const Followers& all)
      : plan_(plan), followers_(followers), all_(all), before_all_(reversed(all)) {}

  /// Adds the waits of the readers of some actors with their own rule to `waits`, by sender.
  void add_waits(const Ends& ends, Followers& waits) const {
    std::map<ActorId, Actors> answers_to;  // by reader: the senders that wait for it
    std::map<ActorId, Replicas> before, after;
    Actors answering;
    for (const auto sender : ends.senders) before[sender] = replicas_in(sender, before_all_);
    for (const auto reader : ends.readers) {
      after[reader] = replicas_in(reader, all_);
      visit_all(reader, followers_, [&](ActorId actor) {
        if (ends.senders.contains(actor)) answers_to[reader].insert(actor);
      });
      answering.insert(answers_to[reader].begin(), answers_to[reader].end());
    }
    for (const auto reader : ends.readers)
      for (const auto sender : ends.senders) {
        const auto& answers = answers_to[reader];
        const bool both_exchange = !answers.empty() && answering.contains(sender);
        if (!answers.contains(sender) && (!both_exchange || have_common(before[sender], after[reader])))
          waits[static_cast<std::size_t>(sender)].push_back(reader);
      }
  }

 private:
  /// Places and replicas whose actors may fire together.
  using Replicas = std::set<std::pair<Place, int>>;

  /// The replicas of `start` and of all actors that can be reached from it.
  Replicas replicas_in(ActorId start, const Followers& followers) const {
    Replicas replicas;
    visit_all(start, followers, [&](ActorId actor) {
      const auto& planned = actor_at(plan_, actor);
      if (can_contract(planned)) replicas.emplace(planned.place, planned.replica);
    });
    return replicas;
  }

  static bool have_common(const Replicas& a, const Replicas& b) {
    return std::ranges::any_of(a, [&](const auto& replica) { return b.contains(replica); });
  }

  const Plan& plan_;
  const Followers& followers_;
  const Followers& all_;
  const Followers before_all_;
};

/// Returns all waits through actors with their own rule, by sender, also those between actors that wait for each other.
Followers all_waits(const Plan& plan, const Followers& followers, std::span<const Dependency> own_rules) {
  const auto all_ends = ends_of(plan, own_rules);
  // Each pass may find waits that follow from those of the pass before. A pass finds all waits of the pass before, so
  // the loop ends.
  Followers waits(followers.size()), before;
  while (waits != before) {
    before = std::exchange(waits, Followers(followers.size()));
    const auto all = joined(followers, before);
    const WaitSearch search(plan, followers, all);
    for (const auto& ends : all_ends) search.add_waits(ends, waits);
  }
  return waits;
}

/// Removes the waits between actors that wait for each other, and returns these actors.
Actors remove_cycles(const Followers& followers, Followers& waits) {
  const auto component = components_of(joined(followers, waits));
  Actors removed;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    const auto on_cycle = [&](ActorId reader) { return component[static_cast<std::size_t>(reader)] == component[i]; };
    for (const auto reader : waits[i])
      if (on_cycle(reader)) removed.insert({static_cast<ActorId>(i), reader});
    std::erase_if(waits[i], on_cycle);
  }
  return removed;
}

}  // namespace

OwnRuleWaits waits_through_own_rules(const Plan& plan, const Followers& followers,
                                     std::span<const Dependency> own_rules) {
  OwnRuleWaits waits{all_waits(plan, followers, own_rules), std::vector<bool>(followers.size(), false)};
  const auto undecided = remove_cycles(followers, waits.followers);
  for (std::size_t i = 0; i < waits.alone.size(); ++i)
    waits.alone[i] = std::ranges::any_of(
        undecided, [&](ActorId other) { return are_together(plan, static_cast<ActorId>(i), other); });
  return waits;
}

}  // namespace troupe
