#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "troupe/transport/nccl/nccl_group.hpp"
#include "troupe/transport/nccl/nccl_library.hpp"

namespace troupe::nccl {

/// NCCL's communicators of the ranks of this process. They do not block: what NCCL does in the background is waited for
/// here, with a limit. Used by one thread at a time.
class NcclRanks {
 public:
  /// Throws if there is nothing to wait for any more.
  using Check = std::function<void()>;

  /// Blocks until all ranks of the group have come. Throws Error.
  explicit NcclRanks(const NcclGroupOptions& options);
  /// Waits until other processes have what is on its way to them, for at most the limit.
  ~NcclRanks();
  NcclRanks(const NcclRanks&) = delete;
  NcclRanks& operator=(const NcclRanks&) = delete;

  /// Launches `call(local rank, communicator)` for all ranks together. Throws Error that names the rank if NCCL
  /// refuses, and what `check` throws.
  using Call = std::function<ncclResult_t(std::size_t local, ncclComm_t comm)>;
  void launch(const Call& call, const Check& check);
  /// A failure that NCCL has found meanwhile; null if there is none.
  FailurePtr async_failure() const;
  /// Ends what is on its way. The devices go on.
  void abort() noexcept;

 private:
  using Clock = std::chrono::steady_clock;

  /// Throws Error that names the rank and `what` if NCCL refuses.
  void call_for_all(const char* what, const Call& call) const;
  /// Waits while NCCL is at work.
  void settle(const char* what, const Check& check) const;
  ncclResult_t state_of(std::size_t local) const;
  std::string text_of(std::size_t local, ncclResult_t result) const;
  [[noreturn]] void refuse(const char* what, std::size_t local, ncclResult_t result) const;

  const int size_;
  const std::vector<DeviceRank> local_;
  const std::chrono::milliseconds limit_;
  std::vector<ncclComm_t> comms_;  // null once aborted
};

}  // namespace troupe::nccl
