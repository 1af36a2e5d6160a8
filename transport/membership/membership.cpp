#include "troupe/transport/membership/membership.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/signals_blocked.hpp"
#include "troupe/transport/timed_out.hpp"

namespace troupe {

namespace {

// The extra silence allowed to a rank on another machine before its first heartbeat. TCP sends a lost first packet
// again after 1 s, and once more 2 s later.
constexpr std::chrono::milliseconds kFirstContact{4'000};

/// The types of the frames between rank 0 and another rank, in FrameHeader::edge. In kReturned and kConfirmed,
/// FrameHeader::slot is the rank that has returned. In kLost, FrameHeader::generation is the incarnation of the lost
/// rank.
enum MemberMessage : std::int32_t { kHeartbeat, kLost, kLeaving, kLeft, kReturned, kConfirmed };

Frame frame_of(MemberMessage type, int returned_rank = 0) {
  return {{.type = FrameType::control, .edge = type, .slot = returned_rank}};
}

std::string rounded_seconds(std::chrono::milliseconds time) {
  const auto tenths = std::to_string(time.count() / 100);
  return (tenths.size() < 2 ? "0" : tenths.substr(0, tenths.size() - 1)) + "." + tenths.back() + " s";
}

}  // namespace

Membership::Membership(MembershipOptions options, std::map<int, std::shared_ptr<Link>> links)
    : options_(std::move(options)) {
  if (options_.interval.count() <= 0) throw Error("cluster", "the interval of heartbeats is not positive");
  for (auto& [rank, link] : links) peers_[rank] = newly_connected(rank, std::move(link));
  const SignalsBlocked blocked;
  thread_ = std::thread([this] { watch(); });
}

Membership::~Membership() {
  {
    std::lock_guard lock(signal_->mutex);
    stopping_ = true;
    signal_->changed.notify_all();
  }
  thread_.join();
  for (auto& [rank, peer] : peers_) peer.link->on_ready({});
}

Membership::Peer Membership::newly_connected(int rank, std::shared_ptr<Link> link) const {
  link->on_ready([signal = signal_] {
    std::lock_guard lock(signal->mutex);
    signal->frame_arrived = true;
    signal->changed.notify_all();
  });
  const bool is_far = options_.is_far && options_.is_far(rank);
  return {.link = std::move(link), .silence = is_far ? -kFirstContact : std::chrono::milliseconds(0)};
}

void Membership::watch() {
  std::unique_lock lock(signal_->mutex);
  auto next_beat = Clock::now();
  while (!stopping_) {
    receive(lock);
    lose_reported(lock);
    const auto now = Clock::now();
    if (now >= next_beat) {
      send_to(links_to_all(), heartbeat(), lock);
      look_for_losses(lock);
      next_beat = now + options_.interval;
    }
    signal_->changed.wait_until(lock, next_beat, [this] { return stopping_ || signal_->frame_arrived; });
    signal_->frame_arrived = false;
  }
}

Frame Membership::heartbeat() const {
  auto frame = frame_of(kHeartbeat);
  busy_.write(frame);
  return frame;
}

std::vector<std::shared_ptr<Link>> Membership::links_to_all() const {
  std::vector<std::shared_ptr<Link>> links;
  for (const auto& [rank, peer] : peers_)
    if (!gone_.contains(rank)) links.push_back(peer.link);
  return links;
}

void Membership::send_to(const std::vector<std::shared_ptr<Link>>& links, const Frame& frame,
                         std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  for (const auto& link : links) link->send(frame);
  lock.lock();
}

void Membership::receive(std::unique_lock<std::mutex>& lock) {
  for (auto& [rank, peer] : peers_)
    while (const auto frame = gone_.contains(rank) ? std::nullopt : peer.link->receive()) take(rank, *frame, lock);
}

void Membership::take(int from, const IncomingFrame& frame, std::unique_lock<std::mutex>& lock) {
  auto& peer = peers_.at(from);
  peer.silence = std::chrono::milliseconds(0);
  switch (frame.header.edge) {
    case kHeartbeat:
      if (frame.payload->local() == nullptr && frame.payload->bytes() > 0) return;
      return busy_.read(from, frame.header, frame.payload->tensor());
    case kLost:
      return take_loss(from, frame, lock);
    case kLeaving:
      peer.leaving = true;
      break;
    case kLeft:
      left_ = true;
      break;
    case kReturned:
      return note_returned(from, frame, lock);
    case kConfirmed:
      unconfirmed_[frame.header.slot].erase(from);
      return;
    default:
      return lose(loss_of(from, "sent a message that this program does not know"), lock);
  }
  signal_->changed.notify_all();
}

void Membership::take_loss(int from, const IncomingFrame& frame, std::unique_lock<std::mutex>& lock) {
  const auto failure = loss_in(frame, from);
  if (failure->rank != options_.rank && frame.header.generation != incarnation(failure->rank)) return;
  // The job ends for a rank that cannot go on. If the job goes on without the rank, the rank is gone.
  if (options_.rank == 0 && expendable_.contains(from) && !expendable_.contains(failure->rank))
    return lose(loss_of(from, "has lost another process: " + failure->what, failure), lock);
  lose(failure, lock);
}

void Membership::link_failed(int rank, const FailurePtr& why) {
  std::lock_guard lock(signal_->mutex);
  failed_links_.emplace_back(rank, why);
  signal_->frame_arrived = true;
  signal_->changed.notify_all();
}

void Membership::lose_reported(std::unique_lock<std::mutex>& lock) {
  std::vector<std::pair<int, FailurePtr>> held;
  for (const auto& [rank, why] : std::exchange(failed_links_, {})) {
    if (left_ || leaving_) continue;
    if (rank != 0 && is_rank_zero_missed())
      held.emplace_back(rank, why);
    else
      lose(loss_of(rank, "has died or was cut off: " + why->what, why), lock);
  }
  failed_links_.insert(failed_links_.end(), held.begin(), held.end());
}

bool Membership::is_rank_zero_missed() const {
  if (options_.rank == 0) return false;
  const auto& zero = peers_.at(0);
  return zero.silence > 2 * options_.interval || zero.link->failure();
}

void Membership::note_returned(int from, const IncomingFrame& frame, std::unique_lock<std::mutex>& lock) {
  const auto rank = frame.header.slot;
  gone_.erase(rank);
  const auto link = peers_.at(from).link;
  lock.unlock();
  try {
    if (options_.on_returned) options_.on_returned(rank, frame.payload->tensor());
    link->send(frame_of(kConfirmed, rank));
  } catch (const Error&) {
    // Without a confirmation from this rank, rank 0 refuses the returning process when the limit of the rendezvous has
    // passed.
  }
  lock.lock();
}

void Membership::tell_returned(int rank, const Tensor& member) {
  std::unique_lock lock(signal_->mutex);
  auto& unconfirmed = unconfirmed_[rank];
  unconfirmed.clear();
  for (const auto& [other, peer] : peers_)
    if (!gone_.contains(other)) unconfirmed.insert(other);
  auto frame = frame_of(kReturned, rank);
  frame.payload = member;
  send_to(links_to_all(), frame, lock);
}

bool Membership::all_confirmed(int rank) const {
  std::lock_guard lock(signal_->mutex);
  const auto unconfirmed = unconfirmed_.find(rank);
  return unconfirmed == unconfirmed_.end() ||
         std::ranges::all_of(unconfirmed->second, [this](int other) { return gone_.contains(other); });
}

void Membership::take_back(int rank, std::shared_ptr<Link> link) {
  auto peer = newly_connected(rank, std::move(link));
  std::lock_guard lock(signal_->mutex);
  peers_.at(rank) = std::move(peer);
  gone_.erase(rank);
}

FailurePtr Membership::loss_in(const IncomingFrame& frame, int from) const {
  try {
    return failure_of(frame.payload->tensor());
  } catch (const Error& error) {
    return loss_of(from, std::string("sent a damaged message: ") + error.what());
  }
}

void Membership::look_for_losses(std::unique_lock<std::mutex>& lock) {
  for (auto& [rank, peer] : peers_) {
    peer.silence += options_.interval;
    if (left_ || (peer.leaving && leaving_) || gone_.contains(rank)) continue;
    if (const auto cause = peer.link->failure())
      return lose(loss_of(rank, "has died or was cut off: " + cause->what, cause), lock);
    if (peer.silence > options_.limit)
      return lose(
          loss_of(rank, "has shown no sign of life for " + rounded_seconds(peer.silence) + " (stopped, or cut off)"),
          lock);
  }
}

FailurePtr Membership::loss_of(int rank, const std::string& why, const FailurePtr& cause) const {
  return failure_of_process(rank, "[cluster] " + options_.describe(rank) + " " + why, cause);
}

void Membership::lose(const FailurePtr& failure, std::unique_lock<std::mutex>& lock) {
  if (lost_ || gone_.contains(failure->rank)) return;
  const bool can_go_on = failure->rank != options_.rank && expendable_.contains(failure->rank);
  busy_.forget(failure->rank);
  const auto links = links_to_all();  // including the link to the rank that is lost now, whose process may still live
  if (can_go_on) {
    gone_.insert(failure->rank);
    going_.insert(failure->rank);
  } else {
    lost_ = failure;
  }
  // Copied before the lock is released: a callback that is added after that is called by on_lost() at once.
  const auto callbacks = can_go_on ? decltype(on_lost_)() : on_lost_;
  auto frame = frame_of(kLost);
  frame.header.generation = incarnation(failure->rank);
  frame.payload = failure_payload(*failure);
  send_to(links, frame, lock);
  signal_->changed.notify_all();
  lock.unlock();
  if (can_go_on && options_.on_gone) options_.on_gone(failure->rank, failure);
  for (const auto& callback : callbacks)
    if (const auto function = callback.lock()) (*function)(failure);
  lock.lock();
  going_.erase(failure->rank);
}

void Membership::set_expendable(std::set<int> ranks) {
  std::lock_guard lock(signal_->mutex);
  expendable_ = std::move(ranks);
}

std::set<int> Membership::expendable() const {
  std::lock_guard lock(signal_->mutex);
  return expendable_;
}

bool Membership::gone(int rank) const {
  std::lock_guard lock(signal_->mutex);
  return gone_.contains(rank) && !going_.contains(rank);
}

FailurePtr Membership::lost() const {
  std::lock_guard lock(signal_->mutex);
  return lost_;
}

void Membership::on_lost(std::weak_ptr<const OnLost> callback) {
  std::unique_lock lock(signal_->mutex);
  std::erase_if(on_lost_, [](const auto& earlier) { return earlier.expired(); });
  on_lost_.push_back(callback);
  const auto lost = lost_;
  lock.unlock();
  const auto function = callback.lock();
  if (lost && function) (*function)(lost);
}

std::string Membership::staying() const {
  std::string ranks;
  for (const auto& [rank, peer] : peers_)
    if (!peer.leaving && !gone_.contains(rank)) ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
  return ranks;
}

void Membership::leave(std::chrono::milliseconds limit) {
  std::unique_lock lock(signal_->mutex);
  leaving_ = true;
  if (options_.rank != 0) send_to(links_to_all(), frame_of(kLeaving), lock);
  const auto has_ended = [this] { return lost_ || (options_.rank == 0 ? staying().empty() : left_); };
  const bool ended = signal_->changed.wait_for(lock, limit, has_ended);
  if (lost_) throw Error("cluster", "at the end of the job: " + to_string(*lost_));
  if (!ended) {
    const auto reason =
        options_.rank == 0 ? "rank " + staying() + " has not ended" : "rank 0 has not let this rank leave";
    throw TimedOut("cluster", reason + " within " + rounded_seconds(limit));
  }
  left_ = true;
  if (options_.rank == 0) send_to(links_to_all(), frame_of(kLeft), lock);
}

}  // namespace troupe
