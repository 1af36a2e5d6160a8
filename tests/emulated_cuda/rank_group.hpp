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

/// One side of a send. Kept until both sides exist.
struct Transfer {
  int peer;
  void* buffer;
  std::size_t count;
  ncclDataType_t type;
  bool is_send;
  bool is_done = false;
};

/// The ranks of a communicator, and the point where their streams meet. Thread-safe. Functions that wait return when
/// the rank aborts or the group has an error.
class RankGroup {
 public:
  explicit RankGroup(int size) : ranks_(static_cast<std::size_t>(size)) {}

  int size() const { return static_cast<int>(ranks_.size()); }

  /// Joins the rank, on the device. Returns an error if it has joined before. The last rank completes the group.
  ncclResult_t arrive(int rank, Device& device);
  void wait_until_complete();
  /// ncclInProgress until all ranks have joined, then ncclSuccess, or the error that all ranks share.
  ncclResult_t state();
  std::string problem();

  /// Waits for the parts of the other ranks.
  void meet(int rank, const Collective& part);
  void post(int rank, const std::shared_ptr<Transfer>& transfer);
  void wait_for(int rank, const Transfer& transfer);

  /// Ends the rank's part: its buffers are no longer touched, and its waits end. The other ranks are not notified.
  void abort(int rank);
  /// Records that the rank has destroyed its communicator, after all its work.
  void leave(int rank);
  bool has_left(int rank);

 private:
  struct Rank {
    Device* device = nullptr;
    bool aborted = false;
    bool left = false;
    std::uint64_t met = 0;
  };
  /// The n-th collective of every rank.
  struct Meeting {
    std::vector<std::optional<Collective>> parts;
    std::size_t arrived = 0;
    bool is_done = false;
    std::size_t gone = 0;
  };
  using Queue = std::deque<std::shared_ptr<Transfer>>;
  /// The sends of one rank to another, and the receives of the other.
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
