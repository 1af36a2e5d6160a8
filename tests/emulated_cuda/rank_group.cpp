#include "troupe/tests/emulated_cuda/rank_group.hpp"

#include <algorithm>
#include <cstring>

namespace emulated_cuda {

ncclResult_t RankGroup::arrive(int rank, Device& device) {
  std::lock_guard lock(mutex_);
  if (at(rank).device) {
    fail(ncclInvalidUsage, "rank " + std::to_string(rank) + " has joined twice");
    return ncclInvalidUsage;
  }
  at(rank).device = &device;
  if (++arrived_ == ranks_.size()) refuse_duplicates();
  changed_.notify_all();
  return ncclSuccess;
}

void RankGroup::refuse_duplicates() {
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (ranks_[i].device != ranks_[j].device) continue;
      fail(ncclInvalidUsage, "Duplicate GPU detected : rank " + std::to_string(j) + " and rank " + std::to_string(i) +
                                 " both on CUDA device " + std::to_string(ranks_[i].device->ordinal()));
    }
  }
}

void RankGroup::fail(ncclResult_t error, std::string problem) {
  error_ = error;
  problem_ = std::move(problem);
  changed_.notify_all();
}

void RankGroup::wait_until_complete() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return arrived_ == ranks_.size() || error_ != ncclSuccess; });
}

ncclResult_t RankGroup::state() {
  std::lock_guard lock(mutex_);
  if (error_ != ncclSuccess) return error_;
  return arrived_ == ranks_.size() ? ncclSuccess : ncclInProgress;
}

std::string RankGroup::problem() {
  std::lock_guard lock(mutex_);
  return problem_;
}

bool RankGroup::has_aborted_ranks() const {
  return std::any_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.aborted; });
}

void RankGroup::meet(int rank, const Collective& part) {
  std::unique_lock lock(mutex_);
  if (is_over(rank)) return;
  const std::uint64_t number = at(rank).met++;
  Meeting& meeting = meetings_[number];
  meeting.parts.resize(ranks_.size());
  meeting.parts[static_cast<std::size_t>(rank)] = part;
  if (++meeting.arrived == ranks_.size()) complete(meeting);
  changed_.wait(lock, [&] { return meeting.is_done || is_over(rank); });
  if (++meeting.gone == ranks_.size()) meetings_.erase(number);
}

// Does nothing after an abort, because the rank that aborted may have freed its buffers.
void RankGroup::complete(Meeting& meeting) {
  if (has_aborted_ranks()) return;
  std::vector<Collective> parts;
  for (const auto& part : meeting.parts) {
    if (!match(*part, *meeting.parts[0])) {
      const auto rank = std::to_string(parts.size());
      return fail(ncclInvalidUsage,
                  "ranks 0 and " + rank + " call different collectives, or with other counts or types");
    }
    parts.push_back(*part);
  }
  run_collective(parts);
  meeting.is_done = true;
  changed_.notify_all();
}

void RankGroup::post(int rank, const std::shared_ptr<Transfer>& transfer) {
  std::lock_guard lock(mutex_);
  if (is_over(rank)) return;
  Channel& channel = channels_[transfer->is_send ? std::pair(rank, transfer->peer) : std::pair(transfer->peer, rank)];
  (transfer->is_send ? channel.sends : channel.receives).push_back(transfer);
  complete(channel);
}

void RankGroup::complete(Channel& channel) {
  while (!channel.sends.empty() && !channel.receives.empty() && error_ == ncclSuccess) {
    Transfer &send = *channel.sends.front(), &receive = *channel.receives.front();
    if (send.count != receive.count || send.type != receive.type) {
      return fail(ncclInvalidUsage, "rank " + std::to_string(receive.peer) + " sends " + std::to_string(send.count) +
                                        " elements to rank " + std::to_string(send.peer) + ", which receives " +
                                        std::to_string(receive.count) + " or other ones");
    }
    std::memmove(receive.buffer, send.buffer, send.count * bytes_of(send.type));
    send.is_done = receive.is_done = true;
    channel.sends.pop_front();
    channel.receives.pop_front();
    changed_.notify_all();
  }
}

void RankGroup::wait_for(int rank, const Transfer& transfer) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return transfer.is_done || is_over(rank); });
}

void RankGroup::abort(int rank) {
  std::lock_guard lock(mutex_);
  at(rank).aborted = true;
  for (auto& [ranks, channel] : channels_) {
    if (ranks.first == rank) channel.sends.clear();
    if (ranks.second == rank) channel.receives.clear();
  }
  changed_.notify_all();
}

void RankGroup::leave(int rank) {
  std::lock_guard lock(mutex_);
  at(rank).left = true;
}

bool RankGroup::has_left(int rank) {
  std::lock_guard lock(mutex_);
  return at(rank).left;
}

}  // namespace emulated_cuda
