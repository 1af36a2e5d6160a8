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

/// Whether this build has NCCL and the library can be loaded.
bool has_nccl();
/// Whether these are GPUs, each only once, as NCCL needs them.
bool are_different_gpus(const std::vector<Device>& devices);
/// Whether that is so, and there is NCCL.
bool suits_nccl(const std::vector<Device>& devices);

/// What the ranks of a group know it by. Used for one group.
using NcclId = std::array<std::byte, 128>;

/// A new id, for rank 0 of a group, which gives it to all others. Throws Error if there is no NCCL.
NcclId make_nccl_id();

// The same id for all ranks, or for one rank of each process: rank 0 makes it. They block until it is there; after
// `limit` they throw Error that says who is missing, or why rank 0 has none.

/// Over a communicator on the host.
NcclId share_nccl_id(Communicator& communicator, std::chrono::milliseconds limit);
/// Through a file that all see and that does not exist yet; rank 0 makes it, and nobody removes it.
NcclId share_nccl_id_by_file(const std::string& path, int rank, std::chrono::milliseconds limit);
/// Over TCP: rank 0 listens at `address`, as in `host:port`, until all of `ranks` have come.
NcclId share_nccl_id_by_tcp(const std::string& address, int rank, int ranks, std::chrono::milliseconds limit);

struct NcclGroupOptions {
  /// Ranks of all processes.
  int size = 1;
  /// Those of this process, in ascending order.
  std::vector<DeviceRank> local;
  NcclId id = {};
  /// How long the ranks wait for each other at the start, and how long a collective may take.
  std::chrono::milliseconds limit{30'000};
  /// Called again and again while the ranks wait for each other at the start; what it throws ends the wait.
  std::function<void()> check = {};
};

/// A group of GPUs in one or several processes over NCCL, which sums in an order of its own: the same bits on all ranks
/// and from run to run. Blocks until all ranks have come. The limit ends collectives that wait for a process which is
/// gone. Throws Error that names a rank if NCCL is missing, refuses, or waits for longer than the limit.
std::shared_ptr<Communicator> make_nccl_group(const NcclGroupOptions& options);
/// A group over NCCL of GPUs of this process, rank r on `devices[r]`.
std::shared_ptr<Communicator> make_nccl_group(const std::vector<Device>& devices,
                                              const DeviceGroupOptions& options = {});

}  // namespace troupe
