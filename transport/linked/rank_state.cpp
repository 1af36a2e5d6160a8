#include "troupe/transport/linked/rank_state.hpp"

namespace troupe::linked {

namespace {

// The most collectives that another rank may be ahead of this one. A frame that is further ahead is an error.
constexpr std::int64_t kMostAhead = 4'096;

bool is_good(const FrameHeader& header) {
  return header.part >= 0 && header.part < static_cast<std::int32_t>(kCollectiveForms.size()) && header.run >= 0 &&
         header.run <= static_cast<std::int64_t>(DType::bfloat16) && header.slot >= 0 && header.slot < kPhases;
}

FailurePtr bad_peer(int rank, const std::string& problem) {
  return std::make_shared<Failure>(Failure{.what = "[communicator] rank " + std::to_string(rank) + " sent " + problem});
}

}  // namespace

FrameHeader header_of(FrameType type, const CallSignature& signature, std::int64_t number, Phase phase) {
  return {type,
          signature.root,
          phase,
          static_cast<std::int32_t>(signature.kind),
          static_cast<std::uint64_t>(signature.elements),
          static_cast<std::int64_t>(signature.dtype),
          number};
}

CallSignature signature_of(const FrameHeader& header) {
  return {static_cast<CollectiveKind>(header.part), static_cast<DType>(header.run),
          static_cast<std::int64_t>(header.generation), header.edge};
}

Arrived::Arrived(int ranks) : ready(static_cast<std::size_t>(ranks)) {
  for (auto& by_rank : parts) by_rank.resize(static_cast<std::size_t>(ranks));
  for (auto& by_rank : parts_taken_in) by_rank.resize(static_cast<std::size_t>(ranks));
}

RankState::RankState(int rank, std::vector<std::shared_ptr<Link>> links)
    : rank_(rank), links_(std::move(links)), inboxes_(links_.size()), departures_(links_.size()) {
  for (int distance = 1; distance < ranks(); ++distance) others_.push_back((rank + distance) % ranks());
}

void RankState::listen(std::int64_t key, ProgressListener listener) {
  std::lock_guard lock(listeners_mutex_);
  if (listener) listeners_[key] = std::move(listener);
}

void RankState::forget(std::int64_t key) {
  std::lock_guard lock(listeners_mutex_);
  listeners_.erase(key);
}

void RankState::notify() {
  std::vector<ProgressListener> listeners;
  {
    std::lock_guard lock(listeners_mutex_);
    for (const auto& [key, listener] : listeners_) listeners.push_back(listener);
  }
  for (const auto& listener : listeners) listener();
}

void RankState::receive() {
  check();
  for (int from = 0; from < ranks(); ++from)
    while (auto frame = links_[from] ? links_[from]->receive() : std::nullopt) take(from, std::move(*frame));
  check();
}

void RankState::check(std::int64_t number) const {
  for (const auto& departure : departures_)
    if (departure.failure && number >= departure.number) throw Departed(departure.failure);
}

void RankState::check_next() {
  check();
  const auto held = lock();
  check(next_number_);
}

Arrived& RankState::arrived(std::int64_t number) {
  return arrived_.try_emplace(number, ranks()).first->second;
}

void RankState::complete(std::int64_t number) {
  arrived_.erase(number);
  forget(number);
}

Receive RankState::post(int from, int to) {
  const auto held = lock();
  return {from, to, inboxes_[from].post()};
}

std::optional<Tensor> RankState::take(const Receive& request) {
  const auto held = lock();
  receive();
  auto tensor = inboxes_[request.from].take(request.number);
  if (!tensor && departures_[request.from].failure) throw Departed(departures_[request.from].failure);
  if (!tensor && request.from != rank_) expect_alive(request.from);
  return tensor;
}

void RankState::drop(const Receive& request) {
  forget(key_of(request));
  const auto held = lock();
  inboxes_[request.from].drop(request.number);
}

void RankState::send(int to, const Frame& frame) {
  if (to == rank_)
    inboxes_[to].arrive(frame.payload.clone());
  else
    links_[to]->send(frame);
}

void RankState::abort(const FailurePtr& failure) {
  if (!abort_.set(failure)) return;
  const Frame frame{{FrameType::collective_abort}, failure_payload(*failure)};
  for (const auto& link : links_)
    if (link) link->send(frame);
}

void RankState::leave(const FailurePtr& failure) {
  const auto held = lock();
  if (departures_[rank_].failure) return;
  departures_[rank_] = {next_number_, failure};
  const Frame frame{{.type = FrameType::collective_leave, .step = next_number_}, failure_payload(*failure)};
  for (const auto& link : links_)
    if (link) link->send(frame);
}

void RankState::give_up(const FailurePtr& failure) {
  abort(failure);
  check();
  throw Aborted(failure);
}

void RankState::take(int from, IncomingFrame frame) {
  switch (frame.header.type) {
    case FrameType::collective_abort:
      // abort() passes the failure on to all ranks, because the link between the sender and another rank may be broken.
      return abort(failure_of(frame.payload->tensor()));
    case FrameType::collective_send:
      inboxes_[from].arrive(frame.payload->tensor());
      return;
    case FrameType::collective_part:
      return take_part(from, std::move(frame));
    case FrameType::collective_ready:
      return take_ready(from, frame.header);
    case FrameType::collective_leave:
      return take_leave(from, frame);
    default:
      give_up(bad_peer(from, "a frame that is no part of a collective"));
  }
}

void RankState::check_number(int from, const FrameHeader& header) {
  if (!is_good(header)) give_up(bad_peer(from, "a part of an unknown collective"));
  const auto number = header.step;
  const bool is_over = number < next_number_ && !arrived_.contains(number);
  if (number < 0 || is_over)
    give_up(bad_peer(from, "a part of collective " + std::to_string(number) + ", which is over"));
  if (number >= next_number_ + kMostAhead)
    give_up(bad_peer(from, "a part of collective " + std::to_string(number) + ", when this rank was at " +
                               std::to_string(next_number_)));
}

void RankState::take_part(int from, IncomingFrame frame) {
  check_number(from, frame.header);
  const auto phase = static_cast<std::size_t>(frame.header.slot);
  const auto number = frame.header.step;
  auto& messages = arrived(number);
  if (number >= next_number_ && frame.payload->bytes() > kEagerBytes)
    give_up(
        bad_peer(from, "a large part of collective " + std::to_string(number) + ", for which this rank was not ready"));
  if (++messages.parts_taken_in[phase][from] > messages.most_parts)
    give_up(bad_peer(from, "more parts of a collective than there are"));
  messages.parts[phase][from].push_back(std::move(frame));
}

void RankState::take_ready(int from, const FrameHeader& header) {
  check_number(from, header);
  arrived(header.step).ready[from] = header;
}

void RankState::take_leave(int from, const IncomingFrame& frame) {
  if (frame.header.step < 0 || departures_[from].failure)
    give_up(bad_peer(from, "a departure that does not fit its collectives"));
  departures_[from] = {frame.header.step, failure_of(frame.payload->tensor())};
}

void RankState::expect_agreement(std::int64_t number, const CallSignature& signature) {
  const auto& messages = arrived(number);
  for (int from = 0; from < ranks(); ++from) {
    const auto& parts = messages.parts[inputs][from];
    if (parts.empty() && !messages.ready[from]) continue;
    const auto theirs = signature_of(parts.empty() ? *messages.ready[from] : parts.front().header);
    if (theirs == signature) continue;
    if (from < rank_)
      give_up(disagreement(number, theirs, from, signature, rank_));
    else
      give_up(disagreement(number, signature, rank_, theirs, from));
  }
}

void RankState::expect_alive(int from) {
  const auto failure = links_[from]->failure();
  if (!failure) return;
  // A failure of a process names it. The number of the rank may differ from that of its process.
  if (failure->rank >= 0) give_up(failure);
  give_up(std::make_shared<Failure>(
      Failure{.kind = FailureKind::part_died,
              .what = "[communicator] rank " + std::to_string(from) + " is gone: " + failure->what,
              .cause = failure}));
}

}  // namespace troupe::linked
