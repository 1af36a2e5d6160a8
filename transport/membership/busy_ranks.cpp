#include "troupe/transport/membership/busy_ranks.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "troupe/transport/bytes.hpp"

namespace troupe {

namespace {

/// A rank that is busy for less is not worth a report.
constexpr std::chrono::milliseconds kShortest{1'000};
constexpr std::size_t kTextLimit = 256;

/// Sets or erases an entry. Returns its value before.
template <class Key>
std::optional<BusyRanks::Work> exchange(std::map<Key, BusyRanks::Work>& entries, const Key& key,
                                        std::optional<BusyRanks::Work> work) {
  std::optional<BusyRanks::Work> before;
  if (auto entry = entries.extract(key)) before = std::move(entry.mapped());
  if (work) entries.emplace(key, std::move(*work));
  return before;
}

template <class Key>
const BusyRanks::Work* longest_in(const std::map<Key, BusyRanks::Work>& entries) {
  const auto longest = std::ranges::min_element(entries, {}, [](const auto& entry) { return entry.second.since; });
  return longest != entries.end() ? &longest->second : nullptr;
}

}  // namespace

std::optional<BusyRanks::Work> BusyRanks::set_callback(std::optional<Work> callback) {
  std::lock_guard lock(mutex_);
  return exchange(callbacks_, std::this_thread::get_id(), std::move(callback));
}

void BusyRanks::set_task(const void* plan, std::optional<Work> task) {
  std::lock_guard lock(mutex_);
  exchange(tasks_, plan, std::move(task));
}

std::optional<BusyRanks::Work> BusyRanks::own() const {
  std::lock_guard lock(mutex_);
  const auto* work = own_work();
  return work != nullptr ? std::optional(*work) : std::nullopt;
}

const BusyRanks::Work* BusyRanks::own_work() const {
  const auto* callback = longest_in(callbacks_);
  const auto* task = longest_in(tasks_);
  if (task == nullptr) return callback;
  return callback != nullptr && Clock::now() - callback->since > kShortest ? callback : task;
}

std::optional<BusyRank> BusyRanks::longest() const {
  return longest_of(false);
}

std::optional<BusyRank> BusyRanks::longest_of(bool own_only) const {
  std::lock_guard lock(mutex_);
  std::optional<BusyRank> longest;
  const auto consider = [&](const BusyRank& busy) {
    if (busy.time > kShortest && (!longest || busy.time > longest->time)) longest = busy;
  };
  if (const auto* own = own_work())
    consider({rank_, own->what, std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - own->since)});
  for (const auto& [from, busy] : told_)
    if (!own_only) consider(busy);
  return longest;
}

void BusyRanks::write(Frame& heartbeat) const {
  // A state that rank 0 has told another rank does not go back to rank 0.
  const auto busy = longest_of(rank_ != 0);
  if (!busy) return;
  heartbeat.header.slot = busy->rank;
  heartbeat.header.step = busy->time.count();
  heartbeat.payload = payload_of(std::as_bytes(std::span(busy->what).first(std::min(busy->what.size(), kTextLimit))));
}

void BusyRanks::read(int from, const FrameHeader& header, const Tensor& payload) {
  std::lock_guard lock(mutex_);
  if (header.step <= 0) {
    told_.erase(from);
    return;
  }
  const auto bytes = bytes_in(payload);
  told_[from] = {header.slot, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
                 std::chrono::milliseconds(header.step)};
}

void BusyRanks::forget(int from) {
  std::lock_guard lock(mutex_);
  told_.erase(from);
}

BusyScope::BusyScope(BusyRanks& ranks, std::optional<std::string> callback) : ranks_(ranks) {
  before_ = ranks_.set_callback(callback ? std::optional(BusyRanks::Work{std::move(*callback), BusyRanks::Clock::now()})
                                         : std::nullopt);
}

BusyScope::~BusyScope() {
  if (before_) before_->since = BusyRanks::Clock::now();
  ranks_.set_callback(std::move(before_));
}

}  // namespace troupe
