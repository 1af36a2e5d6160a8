#include "troupe/transport/membership/membership.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

// TCP sends its first packet again after 1 s, and after 2 s more.
constexpr std::chrono::milliseconds kFirstContact{4'000};

/// What the frames between members say, in FrameHeader::edge.
enum Says : std::int32_t { kAlive, kLost, kLeaving, kLeft, kReturned, kKnown };

Frame frame_of(Says says, std::int64_t step = 0) {
  return {{.type = FrameType::control, .edge = says, .step = step}};
}

std::string rounded_seconds(std::chrono::milliseconds time) {
  const auto tenths = std::to_string(time.count() / 100);
  return (tenths.size() < 2 ? "0" : tenths.substr(0, tenths.size() - 1)) + "." + tenths.back() + " s";
}

}  // namespace

Membership::Membership(MembershipOptions options, std::map<int, std::shared_ptr<Link>> links)
    : options_(std::move(options)) {
  if (options_.interval.count() <= 0) throw Error("cluster", "the interval of heartbeats is not positive");
  for (auto& [rank, link] : links) {
    watch_link(*link);
    peers_[rank] = newly_connected(rank, std::move(link));
  }
  thread_ = std::thread([this] { watch(); });
}

Membership::~Membership() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
  for (auto& [rank, peer] : peers_) peer.link->on_ready({});
}

Membership::Peer Membership::newly_connected(int rank, std::shared_ptr<Link> link) const {
  const bool is_far = options_.is_far && options_.is_far(rank);
  return {.link = std::move(link), .silence = is_far ? -kFirstContact : std::chrono::milliseconds(0)};
}

void Membership::watch_link(Link& link) {
  link.on_ready([this] {
    std::lock_guard lock(mutex_);
    woken_ = true;
    changed_.notify_all();
  });
}

void Membership::watch() {
  std::unique_lock lock(mutex_);
  auto next_beat = Clock::now();
  while (!stopping_) {
    receive(lock);
    const auto now = Clock::now();
    if (now >= next_beat) {
      beat(lock);
      look_for_losses(lock);
      next_beat = now + options_.interval;
    }
    changed_.wait_until(lock, next_beat, [this] { return stopping_ || woken_; });
    woken_ = false;
  }
}

void Membership::beat(std::unique_lock<std::mutex>& lock) {
  const auto progress = options_.progress ? options_.progress() : 0;
  send_to_all(frame_of(kAlive, progress), lock);
}

void Membership::send_to_all(const Frame& frame, std::unique_lock<std::mutex>& lock) {
  send_to(links_to_all(), frame, lock);
}

std::vector<std::shared_ptr<Link>> Membership::links_to_all() const {
  std::vector<std::shared_ptr<Link>> links;
  for (const auto& [rank, peer] : peers_)
    if (!gone_.contains(rank)) links.push_back(peer.link);
  return links;
}

/// Without the lock: the other end of a link may be in this process, and its callback takes a lock of its own.
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
    case kAlive:
      peer.progress = frame.header.step;
      return;
    case kLost:
      return lose(loss_in(frame, from), lock);
    case kLeaving:
      peer.leaving = true;
      break;
    case kLeft:
      left_ = true;
      break;
    case kReturned:
      return note_returned(from, frame, lock);
    case kKnown:
      to_know_[frame.header.slot].erase(from);
      return;
    default:
      return lose(loss_of(from, "sent a message that this program does not know"), lock);
  }
  changed_.notify_all();
}

void Membership::note_returned(int from, const IncomingFrame& frame, std::unique_lock<std::mutex>& lock) {
  const auto rank = frame.header.slot;
  auto answer = frame_of(kKnown);
  answer.header.slot = rank;
  gone_.erase(rank);
  const auto link = peers_.at(from).link;
  lock.unlock();
  try {
    if (options_.on_returned) options_.on_returned(rank, frame.payload->tensor());
    link->send(answer);
  } catch (const Error&) {
    // Rank 0 waits in vain, and refuses the newcomer.
  }
  lock.lock();
}

void Membership::tell_returned(int rank, const Tensor& member) {
  std::unique_lock lock(mutex_);
  auto& to_know = to_know_[rank];
  to_know.clear();
  for (const auto& [other, peer] : peers_)
    if (!gone_.contains(other)) to_know.insert(other);
  auto frame = frame_of(kReturned);
  frame.header.slot = rank;
  frame.payload = member;
  send_to_all(frame, lock);
}

bool Membership::all_know(int rank) const {
  std::lock_guard lock(mutex_);
  const auto to_know = to_know_.find(rank);
  return to_know == to_know_.end() ||
         std::ranges::all_of(to_know->second, [this](int other) { return gone_.contains(other); });
}

void Membership::take_back(int rank, std::shared_ptr<Link> link) {
  watch_link(*link);
  std::lock_guard lock(mutex_);
  peers_.at(rank) = newly_connected(rank, std::move(link));
  gone_.erase(rank);
}

/// What a process says of one that is lost. If that is damaged, it is itself lost: this thread must not throw.
FailurePtr Membership::loss_in(const IncomingFrame& frame, int from) const {
  try {
    return failure_of(frame.payload->tensor());
  } catch (const Error& error) {
    return loss_of(from, std::string("sent a damaged message: ") + error.what());
  }
}

/// Called once per interval. No clock measures the silence: while this process is stopped or waits for a processor,
/// signs of life wait, too, in front of its threads.
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
  return std::make_shared<Failure>(Failure{.rank = rank,
                                           .actor = "process " + std::to_string(rank),
                                           .kind = FailureKind::part_died,
                                           .what = "[cluster] " + options_.describe(rank) + " " + why,
                                           .cause = cause});
}

/// The first loss counts; rank 0 passes it on.
void Membership::lose(const FailurePtr& failure, std::unique_lock<std::mutex>& lock) {
  if (lost_ || gone_.contains(failure->rank)) return;
  const bool can_go_on = failure->rank != options_.rank && expendable_.contains(failure->rank);
  const auto links = links_to_all();  // to the one that is lost, too
  if (can_go_on) {
    gone_.insert(failure->rank);
    going_.insert(failure->rank);
  } else {
    lost_ = failure;
  }
  // Whoever asks to be told while the lock is given up is told at once.
  const auto callbacks = can_go_on ? decltype(on_lost_)() : on_lost_;
  auto frame = frame_of(kLost);
  frame.payload = failure_payload(*failure);
  send_to(links, frame, lock);
  changed_.notify_all();
  lock.unlock();
  if (can_go_on && options_.on_gone) options_.on_gone(failure->rank, failure);
  for (const auto& callback : callbacks)
    if (const auto alive = callback.lock()) (*alive)(failure);
  lock.lock();
  going_.erase(failure->rank);
}

void Membership::set_expendable(std::set<int> ranks) {
  std::lock_guard lock(mutex_);
  expendable_ = std::move(ranks);
}

std::set<int> Membership::expendable() const {
  std::lock_guard lock(mutex_);
  return expendable_;
}

bool Membership::gone(int rank) const {
  std::lock_guard lock(mutex_);
  return gone_.contains(rank) && !going_.contains(rank);
}

FailurePtr Membership::lost() const {
  std::lock_guard lock(mutex_);
  return lost_;
}

void Membership::on_lost(std::weak_ptr<const OnLost> callback) {
  std::unique_lock lock(mutex_);
  std::erase_if(on_lost_, [](const auto& known) { return known.expired(); });
  on_lost_.push_back(callback);
  const auto lost = lost_;
  lock.unlock();
  const auto alive = callback.lock();
  if (lost && alive) (*alive)(lost);
}

bool Membership::all_leaving() const {
  return std::ranges::all_of(peers_,
                             [this](const auto& peer) { return peer.second.leaving || gone_.contains(peer.first); });
}

void Membership::leave(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  leaving_ = true;
  if (options_.rank != 0) send_to_all(frame_of(kLeaving), lock);
  const bool over =
      changed_.wait_for(lock, limit, [this] { return lost_ || (options_.rank == 0 ? all_leaving() : left_); });
  if (lost_) throw Error("cluster", "at the end of the job: " + to_string(*lost_));
  if (!over) {
    std::string missing;
    for (const auto& [rank, peer] : peers_)
      if (!peer.leaving && !gone_.contains(rank) && options_.rank == 0)
        missing += (missing.empty() ? "" : ", ") + std::to_string(rank);
    throw Error("cluster",
                (missing.empty() ? "rank 0 has not let this rank go" : "rank " + missing + " has not ended") +
                    " within " + rounded_seconds(limit));
  }
  left_ = true;
  if (options_.rank == 0) send_to_all(frame_of(kLeft), lock);
}

}  // namespace troupe
