#include "troupe/transport/nccl/nccl_group.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/device/share_bytes.hpp"

namespace troupe {

namespace {

NcclId id_of(const std::vector<std::byte>& bytes) {
  NcclId id{};
  if (bytes.size() != id.size())
    throw Error("nccl",
                "an id has " + std::to_string(id.size()) + " bytes, but " + std::to_string(bytes.size()) + " came");
  std::ranges::copy(bytes, id.begin());
  return id;
}

std::vector<std::byte> new_id() {
  const auto id = make_nccl_id();
  return {id.begin(), id.end()};
}

/// The message that rank 0 broadcasts. `text` has the bytes of the id, or, if `failed` is not 0, the reason why there
/// is none.
struct IdMessage {
  char failed = 0;
  char text[255] = {};
};

IdMessage message_of_rank_0() {
  IdMessage message;
  try {
    const auto id = make_nccl_id();
    std::memcpy(message.text, id.data(), id.size());
  } catch (const Error& error) {
    message.failed = 1;
    std::strncpy(message.text, error.what(), sizeof message.text - 1);
  }
  return message;
}

}  // namespace

bool are_different_gpus(const std::vector<Device>& devices) {
  const auto is_gpu = [](const Device& device) { return device.type == DeviceType::cuda; };
  const std::set<Device> different(devices.begin(), devices.end());
  return !devices.empty() && different.size() == devices.size() && std::ranges::all_of(devices, is_gpu);
}

bool suits_nccl(const std::vector<Device>& devices) {
  return are_different_gpus(devices) && has_nccl();
}

NcclId share_nccl_id(Communicator& communicator, std::chrono::milliseconds limit) {
  IdMessage message;
  if (communicator.rank() == 0) message = message_of_rank_0();
  const Tensor bytes(Shape{sizeof message}, DType::uint8);
  std::memcpy(bytes.mutable_raw(), &message, sizeof message);
  communicator.broadcast(bytes, 0)->wait(limit);
  std::memcpy(&message, bytes.raw(), sizeof message);
  if (message.failed != 0) throw Error("nccl", std::string("rank 0 has no id: ") + message.text);
  const auto* text = reinterpret_cast<const std::byte*>(message.text);
  return id_of({text, text + sizeof(NcclId)});
}

NcclId share_nccl_id_by_file(const std::string& path, int rank, std::chrono::milliseconds limit) {
  return id_of(device::share_by_file(path, rank, rank == 0 ? new_id() : std::vector<std::byte>(), limit));
}

NcclId share_nccl_id_by_tcp(const std::string& address, int rank, int ranks, std::chrono::milliseconds limit) {
  return id_of(device::share_by_tcp(address, rank, ranks, rank == 0 ? new_id() : std::vector<std::byte>(), limit));
}

std::shared_ptr<Communicator> make_nccl_group(const std::vector<Device>& devices, const DeviceGroupOptions& options) {
  NcclGroupOptions group{.size = static_cast<int>(devices.size()), .id = make_nccl_id(), .limit = options.limit};
  for (const auto& device : devices) group.local.push_back({static_cast<int>(group.local.size()), device});
  return make_nccl_group(group);
}

}  // namespace troupe
