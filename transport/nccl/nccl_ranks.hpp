#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "troupe/transport/nccl/nccl_group.hpp"
#include "troupe/transport/nccl/nccl_library.hpp"

namespace troupe::nccl {

/// NCCL's communicators of the ranks of this process. They do not block; this class waits, with a limit, for the work
/// that NCCL does in the background. Used by one thread at a time.
class NcclRanks {
 public:
  /// Called during waits. Throws to end the wait.
  using Check = std::function<void()>;

  /// Blocks until all ranks of the group have come. Throws Error.
  explicit NcclRanks(const NcclGroupOptions& options);
  /// Waits, for at most the limit, until the data that is on its way to other processes has arrived there.
  ~NcclRanks();
  NcclRanks(const NcclRanks&) = delete;
  NcclRanks& operator=(const NcclRanks&) = delete;

  /// Launches `call(local rank, communicator)` for all ranks together. Throws Error that names the rank if NCCL
  /// refuses, and the exceptions of `check`.
  using Call = std::function<ncclResult_t(std::size_t local, ncclComm_t comm)>;
  void launch(const Call& call, const Check& check);
  /// A failure that NCCL has found in the background. Null if there is none.
  FailurePtr async_failure() const;
  /// Ends the work that is on its way. The devices remain usable.
  void abort() noexcept;

 private:
  using Clock = std::chrono::steady_clock;

  /// Throws Error that names the rank and the activity if NCCL refuses.
  void call_for_all(const char* activity, const Call& call) const;
  /// Waits while NCCL works in the background.
  void settle(const char* activity, const Check& check) const;
  ncclResult_t state_of(std::size_t local) const;
  std::string text_of(std::size_t local, ncclResult_t result) const;
  [[noreturn]] void refuse(const char* activity, std::size_t local, ncclResult_t result) const;

  const int size_;
  const std::vector<DeviceRank> local_;
  const std::chrono::milliseconds limit_;
  std::vector<ncclComm_t> comms_;  // null once aborted
};

}  // namespace troupe::nccl
