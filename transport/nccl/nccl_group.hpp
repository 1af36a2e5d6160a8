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

/// True if this build has NCCL and the library can be loaded.
bool has_nccl();
/// True if all devices are GPUs and none occurs twice, as NCCL requires.
bool are_different_gpus(const std::vector<Device>& devices);
/// True if has_nccl() and are_different_gpus().
bool suits_nccl(const std::vector<Device>& devices);

/// The id by which the ranks of a group find each other. Used for one group.
using NcclId = std::array<std::byte, 128>;

/// A new id, for rank 0 of a group, which passes it to all other ranks. Throws Error if there is no NCCL.
NcclId make_nccl_id();

// These functions return the same id on all ranks, or on one rank of each process: rank 0 makes it. They block until
// the id is there. After `limit` they throw Error that names the missing ranks, or says why rank 0 has no id.

/// Passes the id over a communicator on the host.
NcclId share_nccl_id(Communicator& communicator, std::chrono::milliseconds limit);
/// Passes the id through a file that all ranks see and that does not exist yet. Rank 0 makes it. The file is not
/// removed.
NcclId share_nccl_id_by_file(const std::string& path, int rank, std::chrono::milliseconds limit);
/// Passes the id over TCP: rank 0 listens at `address`, as in `host:port`, until all of `ranks` have come.
NcclId share_nccl_id_by_tcp(const std::string& address, int rank, int ranks, std::chrono::milliseconds limit);

struct NcclGroupOptions {
  /// Ranks of all processes.
  int size = 1;
  /// The ranks of this process, in ascending order.
  std::vector<DeviceRank> local;
  NcclId id = {};
  /// The limit for the ranks to wait for each other at the start, and for a collective.
  std::chrono::milliseconds limit{30'000};
  /// Called again and again while the ranks wait for each other at the start. An exception ends the wait.
  std::function<void()> check = {};
};

/// A group of GPUs in one or several processes over NCCL. NCCL chooses the order of sums: the bits are the same on all
/// ranks and from run to run. Blocks until all ranks have come. The limit ends collectives that wait for a process that
/// is gone. Throws Error that names a rank if NCCL is missing, refuses, or waits for longer than the limit.
std::shared_ptr<Communicator> make_nccl_group(const NcclGroupOptions& options);
/// A group over NCCL of GPUs of this process, rank r on `devices[r]`.
std::shared_ptr<Communicator> make_nccl_group(const std::vector<Device>& devices,
                                              const DeviceGroupOptions& options = {});

}  // namespace troupe
