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

}  // namespace

std::optional<BusyRanks::Work> BusyRanks::set(std::optional<Work> work) {
  std::lock_guard lock(mutex_);
  return std::exchange(own_, std::move(work));
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
  if (own_)
    consider({rank_, own_->what, std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - own_->since)});
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

}  // namespace troupe
