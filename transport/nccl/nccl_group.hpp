#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "troupe/transport/device/make_device_group.hpp"

namespace troupe {

/// Returns true if this build has NCCL and the library can be loaded.
bool has_nccl();
/// Returns true if there is at least one device, all devices are GPUs and none occurs twice, as NCCL requires.
bool are_different_gpus(const std::vector<Device>& devices);
/// Returns true if has_nccl() and are_different_gpus() are true.
bool suits_nccl(const std::vector<Device>& devices);

/// The id by which the ranks of a group find each other. An id must be used for one group only.
using NcclId = std::array<std::byte, 128>;

/// Makes a new id. Rank 0 of a group calls this, and passes the id to all other ranks. Throws Error if NCCL is missing
/// or refuses.
NcclId make_nccl_id();

// Each of these functions makes an id on rank 0 and returns it on every caller. The callers are numbered from 0; they
// are all ranks of the NCCL group, or one rank of each process. A caller blocks until it has the id, and throws Error
// if that takes longer than `limit`.

/// Passes the id over a communicator on the host, whose ranks are the callers. If its rank 0 cannot make an id, every
/// rank throws Error with the reason.
NcclId share_nccl_id(Communicator& communicator, std::chrono::milliseconds limit);
/// Passes the id through a file that all callers see and that must not exist yet. Rank 0 writes the file without
/// waiting for the other callers. The file is not removed.
NcclId share_nccl_id_by_file(const std::string& path, int rank, std::chrono::milliseconds limit);
/// Passes the id over TCP: rank 0 listens at `address`, such as `host:port`, until all other callers have the id.
/// `ranks` is the number of callers.
NcclId share_nccl_id_by_tcp(const std::string& address, int rank, int ranks, std::chrono::milliseconds limit);

struct NcclGroupOptions {
  /// The number of ranks in all processes.
  int size = 1;
  /// The ranks of this process, in ascending order; each must be on a different GPU.
  std::vector<DeviceRank> local;
  NcclId id = {};
  /// The time that the ranks may wait for each other at the start, and the time that a collective may take.
  std::chrono::milliseconds limit{30'000};
  /// Called repeatedly, on the thread that makes the group, while the thread waits for the other ranks. An exception
  /// ends the wait and is rethrown.
  std::function<void()> check = {};
};

/// Makes a group of GPUs in one or several processes over NCCL. Blocks until all ranks have joined. NCCL chooses the
/// order of sums: the bits are the same on all ranks and from run to run. A collective that waits for a process that is
/// gone fails after the limit. Throws Error if NCCL is missing, or if `options.local` is empty, does not ascend, has a
/// rank that is not below `size`, or has a device that is not a GPU or occurs twice. Throws Error that names a rank if
/// NCCL refuses or the ranks do not meet within the limit.
std::shared_ptr<Communicator> make_nccl_group(const NcclGroupOptions& options);
/// Makes a group over NCCL of GPUs of this process alone, with rank r on `devices[r]`.
std::shared_ptr<Communicator> make_nccl_group(const std::vector<Device>& devices,
                                              const DeviceGroupOptions& options = {});

}  // namespace troupe
