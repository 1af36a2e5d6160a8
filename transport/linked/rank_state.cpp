#include "troupe/transport/linked/rank_state.hpp"

namespace troupe::linked {

namespace {

bool is_good(const FrameHeader& header) {
  return header.part >= 0 && header.part <= static_cast<std::int32_t>(CollectiveKind::barrier) && header.run >= 0 &&
         header.run <= static_cast<std::int64_t>(DType::bfloat16) && header.slot >= 0 && header.slot < kPhases;
}

FailurePtr bad_peer(int rank, const std::string& what) {
  return std::make_shared<Failure>(Failure{.what = "[communicator] rank " + std::to_string(rank) + " sent " + what});
}

}  // namespace

FrameHeader header_of(const CallSignature& signature, std::int64_t number, Phase phase) {
  return {FrameType::collective_part,
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

RankState::RankState(int rank, std::vector<std::shared_ptr<Link>> links)
    : rank_(rank), links_(std::move(links)), inboxes_(links_.size()) {}

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

Arrived& RankState::arrived(std::int64_t number) {
  const std::vector<std::optional<Frame>> nothing(links_.size());
  return arrived_.try_emplace(number, Arrived{nothing, nothing}).first->second;
}

void RankState::complete(std::int64_t number) {
  arrived_.erase(number);
  forget(number);
}

int RankState::missing(std::int64_t number, Phase phase) {
  const auto& frames = arrived(number)[phase];
  int first = -1;
  for (int from = ranks() - 1; from >= 0; --from)
    if (from != rank_ && !frames[from]) {
      expect_alive(from);
      first = from;
    }
  return first;
}

std::optional<Tensor> RankState::take_sent(int from, std::int64_t number) {
  auto tensor = inboxes_[from].take(number);
  if (!tensor && from != rank_) expect_alive(from);
  return tensor;
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

void RankState::give_up(const FailurePtr& failure) {
  abort(failure);
  check();
  throw Aborted(failure);
}

void RankState::take(int from, Frame frame) {
  switch (frame.header.type) {
    case FrameType::collective_abort:
      // Passed on: the link between two others may be what broke.
      return abort(failure_of(frame));
    case FrameType::collective_send:
      inboxes_[from].arrive(std::move(frame.payload));
      return;
    case FrameType::collective_part:
      return take_part(from, std::move(frame));
    default:
      give_up(bad_peer(from, "a frame that is no part of a collective"));
  }
}

void RankState::take_part(int from, Frame frame) {
  if (!is_good(frame.header)) give_up(bad_peer(from, "a part of an unknown collective"));
  auto& place = arrived(frame.header.step)[frame.header.slot][from];
  if (place) give_up(bad_peer(from, "a part of a collective twice"));
  place = std::move(frame);
}

void RankState::expect_alive(int from) {
  const auto failure = links_[from]->failure();
  if (!failure) return;
  give_up(std::make_shared<Failure>(
      Failure{.kind = FailureKind::part_died,
              .what = "[communicator] rank " + std::to_string(from) + " is gone: " + failure->what,
              .cause = failure}));
}

}  // namespace troupe::linked
