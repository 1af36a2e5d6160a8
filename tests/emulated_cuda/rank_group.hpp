#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nccl.h"
#include "troupe/tests/emulated_cuda/collective.hpp"
#include "troupe/tests/emulated_cuda/device.hpp"

namespace emulated_cuda {

/// One side of a send. Kept until both sides are there.
struct Transfer {
  int peer;
  void* buffer;
  std::size_t count;
  ncclDataType_t type;
  bool is_send;
  bool is_done = false;
};

/// The ranks that share a communicator: where their streams meet. All functions may be called from any thread; those
/// that wait are left as soon as the rank aborts or the group has an error.
class RankGroup {
 public:
  explicit RankGroup(int size) : ranks_(static_cast<std::size_t>(size)) {}

  int size() const { return static_cast<int>(ranks_.size()); }

  /// The rank takes part, on the device. An error if it does already. Whoever comes last makes the group complete.
  ncclResult_t arrive(int rank, Device& device);
  void wait_until_complete();
  /// ncclInProgress until all have come, then ncclSuccess, or the error that all ranks share.
  ncclResult_t state();
  std::string problem();

  /// Waits for the other ranks' parts.
  void meet(int rank, const Collective& part);
  void post(int rank, const std::shared_ptr<Transfer>& transfer);
  void wait_for(int rank, const Transfer& transfer);

  /// From now on nobody touches the rank's buffers, and what the rank waits for is over. The other ranks are not told.
  void abort(int rank);
  /// The rank has destroyed its communicator, after all its work.
  void leave(int rank);
  bool has_left(int rank);

 private:
  struct Rank {
    Device* device = nullptr;
    bool aborted = false;
    bool left = false;
    std::uint64_t met = 0;
  };
  /// Of the collective that is the n-th of every rank.
  struct Meeting {
    std::vector<std::optional<Collective>> parts;
    std::size_t come = 0;
    bool is_done = false;
    std::size_t gone = 0;
  };
  using Queue = std::deque<std::shared_ptr<Transfer>>;
  /// Of one rank's sends to another, and the other's receives.
  struct Channel {
    Queue sends;
    Queue receives;
  };

  Rank& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  void fail(ncclResult_t error, std::string problem);
  void refuse_duplicates();
  bool is_over(int rank) { return error_ != ncclSuccess || at(rank).aborted; }
  bool has_aborted_ranks() const;
  void complete(Meeting& meeting);
  void complete(Channel& channel);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Rank> ranks_;
  std::size_t arrived_ = 0;
  ncclResult_t error_ = ncclSuccess;
  std::string problem_;
  std::map<std::uint64_t, Meeting> meetings_;
  std::map<std::pair<int, int>, Channel> channels_;
};

}  // namespace emulated_cuda
