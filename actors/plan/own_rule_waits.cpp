#include "troupe/actors/plan/own_rule_waits.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

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
  const auto component = cycles_of(between);
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

/// Returns those of `actors` that can be reached from `start` by `followers`, `start` included.
Actors reached_from(ActorId start, const Followers& followers, const Actors& actors) {
  std::vector<bool> seen(followers.size(), false);
  std::vector<ActorId> next{start};
  Actors reached;
  while (!next.empty()) {
    const auto actor = next.back();
    next.pop_back();
    if (seen[static_cast<std::size_t>(actor)]) continue;
    seen[static_cast<std::size_t>(actor)] = true;
    if (actors.contains(actor)) reached.insert(actor);
    for (const auto follower : followers[static_cast<std::size_t>(actor)]) next.push_back(follower);
  }
  return reached;
}

/// Adds the waits of the readers of some actors with their own rule.
void add_waits(const Plan& plan, const Followers& followers, const Ends& ends, Followers& waits) {
  std::map<ActorId, Actors> answers_to;  // by reader: the senders that wait for it
  Actors answering;
  for (const auto reader : ends.readers) {
    const auto& answers = answers_to[reader] = reached_from(reader, followers, ends.senders);
    answering.insert(answers.begin(), answers.end());
  }
  for (const auto& [reader, answers] : answers_to)
    for (const auto sender : ends.senders) {
      const bool both_exchange = !answers.empty() && answering.contains(sender);
      if (are_together(plan, reader, sender) ? !answers.contains(sender) : !both_exchange)
        waits[static_cast<std::size_t>(sender)].push_back(reader);
    }
}

/// Removes the waits between actors that wait for each other, and returns these actors.
Actors remove_cycles(const Followers& followers, Followers& waits) {
  auto all = followers;
  for (std::size_t i = 0; i < all.size(); ++i) all[i].insert(all[i].end(), waits[i].begin(), waits[i].end());
  const auto cycles = cycles_of(all);
  Actors removed;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    const auto on_cycle = [&](ActorId reader) { return cycles[static_cast<std::size_t>(reader)] == cycles[i]; };
    for (const auto reader : waits[i])
      if (on_cycle(reader)) removed.insert({static_cast<ActorId>(i), reader});
    std::erase_if(waits[i], on_cycle);
  }
  return removed;
}

}  // namespace

OwnRuleWaits waits_through_own_rules(const Plan& plan, const Followers& followers,
                                     std::span<const Dependency> own_rules) {
  OwnRuleWaits waits{Followers(followers.size()), std::vector<bool>(followers.size(), false)};
  for (const auto& ends : ends_of(plan, own_rules)) add_waits(plan, followers, ends, waits.followers);
  const auto undecided = remove_cycles(followers, waits.followers);
  for (std::size_t i = 0; i < waits.alone.size(); ++i)
    waits.alone[i] = std::ranges::any_of(
        undecided, [&](ActorId other) { return are_together(plan, static_cast<ActorId>(i), other); });
  return waits;
}

}  // namespace troupe
