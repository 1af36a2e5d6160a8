#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "troupe/transport/nccl/nccl_group.hpp"
#include "troupe/transport/nccl/nccl_library.hpp"

namespace troupe::nccl {

/// NCCL's communicators of the ranks of this process. Calls of NCCL do not block; this class waits, with a limit, for
/// the work that NCCL does in the background. Must be used by one thread at a time.
class NcclRanks {
 public:
  /// Called repeatedly during a wait. An exception ends the wait and is rethrown.
  using Check = std::function<void()>;

  /// Blocks until all ranks of the group have joined. Throws Error that names a rank if NCCL refuses or the limit
  /// passes, and the exceptions of `options.check`.
  explicit NcclRanks(const NcclGroupOptions& options);
  /// Waits, for at most the limit, until the data that is on its way to other processes has arrived there, then
  /// destroys the communicators. If the wait fails, aborts them. Does nothing after abort().
  ~NcclRanks();
  NcclRanks(const NcclRanks&) = delete;
  NcclRanks& operator=(const NcclRanks&) = delete;

  /// launch() calls `call` for every local rank, with its index and its communicator, in one group call of NCCL, and
  /// waits until NCCL has launched the collective. Throws Error that names a rank if NCCL refuses or the limit passes,
  /// and the exceptions of `check`.
  using Call = std::function<ncclResult_t(std::size_t local, ncclComm_t comm)>;
  void launch(const Call& call, const Check& check);
  /// Returns a failure that NCCL has found in the background. Returns null if there is none, and after abort().
  FailurePtr async_failure() const;
  /// Aborts the communicators, with the collectives that are launched and not done. The devices remain usable.
  void abort() noexcept;

 private:
  using Clock = std::chrono::steady_clock;

  /// Calls `call` for every local rank in one group call of NCCL. Throws Error that names a rank and the activity if
  /// NCCL refuses.
  void call_for_all(const char* activity, const Call& call) const;
  /// Waits until NCCL's work in the background is complete on all communicators. Throws Error that names a rank and the
  /// activity if the work fails or takes longer than the limit, and the exceptions of `check`.
  void settle(const char* activity, const Check& check) const;
  ncclResult_t state_of(std::size_t local) const;
  std::string text_of(std::size_t local, ncclResult_t result) const;
  [[noreturn]] void refuse(const char* activity, std::size_t local, ncclResult_t result) const;

  const int size_;
  const std::vector<DeviceRank> local_;
  const std::chrono::milliseconds limit_;
  std::vector<ncclComm_t> comms_;  // by local rank; null before NCCL has made it and after abort()
};

}  // namespace troupe::nccl
