#include "troupe/actors/shard/shard_protocol.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "troupe/ops/core/error.hpp"

namespace troupe {

ShardProtocol::ShardProtocol(const ConsistencyRule& rule, Mode mode) : rule_(rule), mode_(mode) {
  rule_.check();
  in_ticket_order_ = rule_.late == LateGradients::awaited && rule_.quorum == 1 && rule_.staleness < rule_.workers - 1;
}

void ShardProtocol::begin(std::int64_t version, std::int64_t first_ticket) {
  version_ = version;
  next_ticket_ = first_ticket;
  tickets_ended_ = false;
  pulls_.clear();
  passed_over_.clear();
  lost_.clear();
  in_flight_.clear();
  to_follow_.clear();
}

bool ShardProtocol::pulled(int worker, std::int64_t ticket, bool wanted) {
  if (lost_.contains(worker)) {
    pass_over(ticket);
    return false;
  }
  if (!pulls_.emplace(ticket, Pull{worker, wanted}).second)
    throw Error("shard", "ticket " + std::to_string(ticket) + " was given to two workers");
  return true;
}

/// Nobody waits for it to be answered.
void ShardProtocol::pass_over(std::int64_t ticket) {
  passed_over_.insert(ticket);
  note_answered(next_ticket_ - 1);
}

void ShardProtocol::note_answered(std::int64_t ticket) {
  next_ticket_ = std::max(next_ticket_, ticket + 1);
  while (passed_over_.erase(next_ticket_) > 0) ++next_ticket_;
}

void ShardProtocol::pushed(int worker) {
  const auto gradient = std::ranges::find(in_flight_, worker, &InFlight::worker);
  if (gradient == in_flight_.end() || gradient->arrived)
    throw Error("shard", "worker " + std::to_string(worker) + " sent a gradient that nobody has asked for");
  gradient->arrived = true;
}

void ShardProtocol::lost(int worker) {
  lost_.insert(worker);
  while (const auto* pull = pull_of(worker)) {
    const auto ticket = pull->first;
    pulls_.erase(ticket);
    pass_over(ticket);
  }
}

std::optional<ShardEvent> ShardProtocol::next(const std::function<bool(int)>& has_room) {
  std::optional<ShardEvent> event;
  if (mode_ == Mode::decides) {
    event = decide(has_room);
  } else if (!to_follow_.empty() && can_follow(to_follow_.front(), has_room)) {
    event = std::move(to_follow_.front());
    to_follow_.pop_front();
  }
  if (event) carry_out(*event);
  return event;
}

std::optional<ShardEvent> ShardProtocol::decide(const std::function<bool(int)>& has_room) const {
  if (const auto worker = to_drop()) return ShardEvent{ShardEvent::Kind::drop, {*worker}};
  if (auto workers = to_apply(); !workers.empty()) return ShardEvent{ShardEvent::Kind::update, std::move(workers)};
  if (const auto worker = to_answer(has_room)) return ShardEvent{ShardEvent::Kind::answer, {*worker}};
  return std::nullopt;
}

bool ShardProtocol::can_follow(const ShardEvent& event, const std::function<bool(int)>& has_room) const {
  return std::ranges::all_of(event.workers, [&](int worker) {
    if (lost_.contains(worker)) return true;
    const auto* gradient = in_flight_of(worker);
    if (event.kind != ShardEvent::Kind::answer) return gradient != nullptr && gradient->arrived;
    return gradient == nullptr && pull_of(worker) != nullptr && has_room(worker);
  });
}

void ShardProtocol::carry_out(const ShardEvent& event) {
  staleness_.clear();
  for (const int worker : event.workers) {
    if (event.kind == ShardEvent::Kind::answer) {
      carry_out_answer(worker);
      continue;
    }
    const auto* done = in_flight_of(worker);
    if (done == nullptr) continue;
    if (done->arrived && done->wanted) staleness_.push_back(version_ - done->version);
    std::erase_if(in_flight_, [&](const InFlight& gradient) { return gradient.worker == worker; });
  }
  if (event.kind == ShardEvent::Kind::update) ++version_;
}

void ShardProtocol::carry_out_answer(int worker) {
  const auto* pull = pull_of(worker);
  if (pull == nullptr) return;
  const auto [ticket, asked] = *pull;
  pulls_.erase(ticket);
  in_flight_.push_back({worker, version_, asked.wanted});
  note_answered(ticket);
}

const std::pair<const std::int64_t, ShardProtocol::Pull>* ShardProtocol::pull_of(int worker) const {
  const auto pull = std::ranges::find(pulls_, worker, [](const auto& entry) { return entry.second.worker; });
  return pull == pulls_.end() ? nullptr : &*pull;
}

const ShardProtocol::InFlight* ShardProtocol::in_flight_of(int worker) const {
  const auto found = std::ranges::find(in_flight_, worker, &InFlight::worker);
  return found == in_flight_.end() ? nullptr : &*found;
}

bool ShardProtocol::is_late(const InFlight& gradient) const {
  return version_ - gradient.version > rule_.staleness;
}

std::optional<int> ShardProtocol::to_drop() const {
  const auto useless = std::ranges::find_if(in_flight_, [&](const InFlight& gradient) {
    if (!gradient.arrived) return lost_.contains(gradient.worker);
    return !gradient.wanted || (rule_.late == LateGradients::dropped && is_late(gradient));
  });
  return useless == in_flight_.end() ? std::nullopt : std::optional(useless->worker);
}

/// How many gradients make the next update: at the end of a run, or without those that are lost, perhaps fewer than the
/// quorum can still come, from each worker one.
std::size_t ShardProtocol::wanted() const {
  const auto living = static_cast<std::size_t>(rule_.workers) - lost_.size();
  const auto quorum = std::clamp<std::size_t>(living, 1, static_cast<std::size_t>(rule_.quorum));
  if (!tickets_ended_) return quorum;
  std::set<int> workers;
  for (const auto& gradient : in_flight_)
    if (!is_late(gradient)) workers.insert(gradient.worker);
  for (const auto& [ticket, pull] : pulls_) workers.insert(pull.worker);
  return std::clamp<std::size_t>(workers.size(), 1, quorum);
}

/// If all of these are applied as soon as they can be, one in each version.
bool ShardProtocol::keeps_bounds(const std::vector<InFlight>& in_flight, std::int64_t version) const {
  if (rule_.late == LateGradients::dropped || rule_.quorum > 1 || rule_.staleness == ConsistencyRule::kUnbounded)
    return true;
  for (std::size_t i = 0; i < in_flight.size(); ++i)
    if (version + static_cast<std::int64_t>(i) - in_flight[i].version > rule_.staleness) return false;
  return true;
}

std::vector<int> ShardProtocol::to_apply() const {
  const auto count = wanted();
  std::vector<InFlight> rest;
  Workers workers;
  for (const auto& gradient : in_flight_) {
    if (gradient.arrived && !is_late(gradient) && workers.size() < count)
      workers.push_back(gradient.worker);
    else
      rest.push_back(gradient);
  }
  if (workers.size() < count || !keeps_bounds(rest, version_ + 1)) return {};
  std::ranges::sort(workers);
  return workers;
}

std::optional<int> ShardProtocol::to_answer(const std::function<bool(int)>& has_room) const {
  auto then = in_flight_;
  then.push_back({-1, version_});
  if (!keeps_bounds(then, version_)) return std::nullopt;
  for (const auto& [ticket, pull] : pulls_) {
    if (in_ticket_order_ && ticket > next_ticket_) return std::nullopt;
    if (in_flight_of(pull.worker) == nullptr && has_room(pull.worker)) return pull.worker;
  }
  return std::nullopt;
}

}  // namespace troupe
