#include "troupe/actors/shard/shard_protocol.hpp"

#include <algorithm>
#include <string>

#include "troupe/ops/core/error.hpp"

namespace troupe {

Tensor ShardEvent::encode(int all_workers) const {
  const Tensor tensor(info(all_workers).shape, DType::int32);
  const auto numbers = tensor.mutable_data<std::int32_t>();
  std::ranges::fill(numbers, 0);
  numbers[0] = static_cast<std::int32_t>(kind);
  for (const int worker : workers) numbers[static_cast<std::size_t>(worker) + 1] = 1;
  return tensor;
}

ShardEvent ShardEvent::decode(const Tensor& tensor) {
  const auto numbers = tensor.data<std::int32_t>();
  ShardEvent event{static_cast<Kind>(numbers[0])};
  for (std::size_t i = 1; i < numbers.size(); ++i)
    if (numbers[i] != 0) event.workers.push_back(static_cast<int>(i) - 1);
  if (!event.is_whole()) throw Error("shard", "the leading shard sent a tensor that is no event");
  return event;
}

bool ShardEvent::is_whole() const {
  if (kind == Kind::update) return !workers.empty();
  return (kind == Kind::answer || kind == Kind::drop) && workers.size() == 1;
}

std::vector<std::int32_t> ShardEvent::numbers() const {
  std::vector<std::int32_t> numbers{static_cast<std::int32_t>(kind), static_cast<std::int32_t>(workers.size())};
  numbers.insert(numbers.end(), workers.begin(), workers.end());
  return numbers;
}

std::vector<ShardEvent> ShardEvent::from_numbers(std::span<const std::int32_t> numbers) {
  std::vector<ShardEvent> events;
  while (!numbers.empty()) {
    const auto count = numbers.size() > 1 ? static_cast<std::size_t>(std::max(numbers[1], 0)) : 0;
    if (numbers.size() < 2 + count) throw Error("replay", "the recording ends within an event");
    const auto workers = numbers.subspan(2, count);
    events.push_back({static_cast<Kind>(numbers[0]), {workers.begin(), workers.end()}});
    if (!events.back().is_whole()) throw Error("replay", "the recording has an event of an unknown kind");
    numbers = numbers.subspan(2 + count);
  }
  return events;
}

ShardProtocol::ShardProtocol(const ConsistencyRule& rule, Mode mode) : rule_(rule), mode_(mode) {
  rule_.check();
  answers_in_order_ = rule_.late == LateGradients::awaited && rule_.quorum == 1 && rule_.staleness < rule_.workers - 1;
}

void ShardProtocol::begin(std::int64_t version, std::int64_t first_number) {
  version_ = version;
  next_number_ = first_number;
  requests_ended_ = false;
  requests_.clear();
  passed_over_.clear();
  lost_.clear();
  in_flight_.clear();
  to_follow_.clear();
}

bool ShardProtocol::requested(int worker, std::int64_t number, bool counts) {
  if (lost_.contains(worker)) {
    pass_over(number);
    return false;
  }
  if (!requests_.emplace(number, Request{worker, counts}).second)
    throw Error("shard", "sequence number " + std::to_string(number) + " was given to two workers");
  return true;
}

/// Notes that the request with this sequence number gets no answer, so that requests with higher numbers do not wait
/// for it.
void ShardProtocol::pass_over(std::int64_t number) {
  passed_over_.insert(number);
  note_answered(next_number_ - 1);
}

void ShardProtocol::note_answered(std::int64_t number) {
  next_number_ = std::max(next_number_, number + 1);
  while (passed_over_.erase(next_number_) > 0) ++next_number_;
}

void ShardProtocol::pushed(int worker) {
  const auto gradient = std::ranges::find(in_flight_, worker, &InFlight::worker);
  if (gradient == in_flight_.end() || gradient->arrived)
    throw Error("shard", "worker " + std::to_string(worker) + " sent a gradient that was not requested");
  gradient->arrived = true;
}

void ShardProtocol::lost(int worker) {
  lost_.insert(worker);
  while (const auto* request = request_of(worker)) {
    const auto number = request->first;
    requests_.erase(number);
    pass_over(number);
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
    return gradient == nullptr && request_of(worker) != nullptr && has_room(worker);
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
    if (done->arrived && done->counts) staleness_.push_back(version_ - done->version);
    std::erase_if(in_flight_, [&](const InFlight& gradient) { return gradient.worker == worker; });
  }
  if (event.kind == ShardEvent::Kind::update) ++version_;
}

void ShardProtocol::carry_out_answer(int worker) {
  const auto* request = request_of(worker);
  if (request == nullptr) return;
  const auto [number, content] = *request;
  requests_.erase(number);
  in_flight_.push_back({worker, version_, content.counts});
  note_answered(number);
}

const std::pair<const std::int64_t, ShardProtocol::Request>* ShardProtocol::request_of(int worker) const {
  const auto request = std::ranges::find(requests_, worker, [](const auto& entry) { return entry.second.worker; });
  return request == requests_.end() ? nullptr : &*request;
}

const ShardProtocol::InFlight* ShardProtocol::in_flight_of(int worker) const {
  const auto gradient = std::ranges::find(in_flight_, worker, &InFlight::worker);
  return gradient == in_flight_.end() ? nullptr : &*gradient;
}

bool ShardProtocol::is_late(const InFlight& gradient) const {
  return version_ - gradient.version > rule_.staleness;
}

std::optional<int> ShardProtocol::to_drop() const {
  const auto useless = std::ranges::find_if(in_flight_, [&](const InFlight& gradient) {
    if (!gradient.arrived) return lost_.contains(gradient.worker);
    return !gradient.counts || (rule_.late == LateGradients::dropped && is_late(gradient));
  });
  return useless == in_flight_.end() ? std::nullopt : std::optional(useless->worker);
}

/// The number of gradients in the next update. It is below the quorum if fewer workers can still send one: at the end
/// of a run, or after workers were lost.
std::size_t ShardProtocol::gradients_of_update() const {
  const auto living = static_cast<std::size_t>(rule_.workers) - lost_.size();
  const auto quorum = std::clamp<std::size_t>(living, 1, static_cast<std::size_t>(rule_.quorum));
  if (!requests_ended_) return quorum;
  std::set<int> workers;
  for (const auto& gradient : in_flight_)
    if (!is_late(gradient)) workers.insert(gradient.worker);
  for (const auto& [number, request] : requests_) workers.insert(request.worker);
  return std::clamp<std::size_t>(workers.size(), 1, quorum);
}

/// Whether no gradient in `in_flight` exceeds the staleness bound if all are applied in this order, one in each version
/// from `version` on. Always true for a rule that drops late gradients, has a quorum above 1, or has no bound.
bool ShardProtocol::keeps_bounds(const std::vector<InFlight>& in_flight, std::int64_t version) const {
  if (rule_.late == LateGradients::dropped || rule_.quorum > 1 || rule_.staleness == ConsistencyRule::kUnbounded)
    return true;
  for (std::size_t i = 0; i < in_flight.size(); ++i)
    if (version + static_cast<std::int64_t>(i) - in_flight[i].version > rule_.staleness) return false;
  return true;
}

std::vector<int> ShardProtocol::to_apply() const {
  const auto count = gradients_of_update();
  std::vector<InFlight> rest;
  std::vector<int> workers;
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
  for (const auto& [number, request] : requests_) {
    if (answers_in_order_ && number > next_number_) return std::nullopt;
    if (in_flight_of(request.worker) == nullptr && has_room(request.worker)) return request.worker;
  }
  return std::nullopt;
}

}  // namespace troupe
