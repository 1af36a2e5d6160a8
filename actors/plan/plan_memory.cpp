#include "troupe/actors/plan/plan_memory.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "troupe/actors/plan/segment_layout.hpp"
#include "troupe/ops/core/allocator.hpp"
#include "troupe/transport/collective_call.hpp"

namespace troupe {

namespace {

std::size_t scratch_of(const Plan& plan, const PlanSegment& segment) {
  std::vector<std::size_t> bytes;
  for (auto id : segment.actors) {
    const auto& actor = plan.actors[id];
    if (!actor.task.call) continue;
    const auto call = with_rows(*actor.task.call, plan.max_rows);
    if (!has_empty_tensor(call)) bytes.push_back(make_kernel(call, actor.place.device)->scratch_bytes());
  }
  return ScratchAreas::on(plan.actors[segment.actors[0]].place.device, bytes).total();
}

/// The bytes of constants, by the address of their elements.
using Constants = std::map<const std::byte*, std::size_t>;

void add_constants(const PlanActor& actor, Constants& constants) {
  for (const auto& input : actor.inputs)
    if (input.constant) constants[input.constant.address()] = Allocator::rounded(input.constant.bytes());
}

std::size_t sum_of(const Constants& constants) {
  std::size_t sum = 0;
  for (const auto& [address, bytes] : constants) sum += bytes;
  return sum;
}

/// Bytes of the plan's constants. A constant that several actors read counts once on the host, and once more for every
/// segment on a device that reads it.
std::size_t constant_bytes(const Plan& plan) {
  Constants on_host;
  for (const auto& actor : plan.actors) add_constants(actor, on_host);
  auto sum = sum_of(on_host);
  for (const auto& segment : plan.segments) {
    Constants on_device;
    if (is_host(segment.place.device)) continue;
    for (auto actor : segment.actors) add_constants(plan.actors[actor], on_device);
    sum += sum_of(on_device);
  }
  return sum;
}

/// Bytes of the copies that a segment on a device keeps: a host copy of every slot of an output that is read in host
/// memory, and two device copies, used in turn, of every input from another place. 0 for a segment on the host.
std::size_t staging_bytes(const Plan& plan, const PlanSegment& segment, const SegmentLayout& layout) {
  if (is_host(segment.place.device)) return 0;
  std::size_t bytes = 0;
  for (const auto& output : layout.outputs) {
    const auto& edge = plan.edges[output.edge];
    if (is_read_on_host(plan, edge, segment.place))
      bytes += static_cast<std::size_t>(edge.capacity) * Allocator::rounded(bytes_of(edge.info, plan.max_rows));
  }
  // A conductor, which begins collectives, reads no elements of its inputs, so it copies none.
  if (plan.actors[segment.actors.front()].role == ActorRole::conductor) return bytes;
  for (auto port : layout.ports) {
    const auto& edge = plan.edges[port];
    if (plan.actors[edge.producer].place != segment.place)
      bytes += 2 * Allocator::rounded(bytes_of(edge.info, plan.max_rows));
  }
  return bytes;
}

/// The tensor of the largest all-reduce of a communicator; null if it has no all-reduce.
const TensorInfo* largest_sum(const Plan& plan, const PlanCommunicator& communicator) {
  const TensorInfo* largest = nullptr;
  for (const auto& actor : plan.actors) {
    if (actor.task.kind != "collective" || actor.task.subject != communicator.name) continue;
    if (collective_kind_of(actor.task.attributes.text("collective")) != CollectiveKind::all_reduce) continue;
    const auto& info = actor.outputs.front().info;
    if (largest == nullptr || bytes_of(info, 1) > bytes_of(*largest, 1)) largest = &info;
  }
  return largest;
}

/// Bytes for an all-reduce on the devices of one process. Each device sums one slice of the tensor, and needs an area
/// of the size of this slice for every rank on another device.
std::size_t sum_bytes(const TensorInfo& info, const std::vector<Device>& ranks) {
  std::vector<Device> members;
  for (const auto& device : ranks)
    if (std::ranges::find(members, device) == members.end()) members.push_back(device);
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto here = std::ranges::count(ranks, members[i]);
    const auto others = ranks.size() - static_cast<std::size_t>(here);
    const auto slice = slice_of(info.shape.elements(), static_cast<int>(members.size()), static_cast<int>(i));
    bytes += others * Allocator::rounded(static_cast<std::size_t>(slice.count) * size_of(info.dtype));
  }
  return bytes;
}

/// Bytes for the all-reduces of a communicator, which all use the areas of the largest. 0 if the communicator works on
/// host memory, or over NCCL, whose own memory is not known.
std::size_t sum_bytes(const Plan& plan, const PlanCommunicator& communicator) {
  if (communicator.devices.empty() || communicator.all_reduce == AllReduceAlgorithm::nccl) return 0;
  const auto* info = largest_sum(plan, communicator);
  if (info == nullptr) return 0;
  std::map<int, std::vector<Device>> ranks_of;  // by process
  for (std::size_t rank = 0; rank < communicator.devices.size(); ++rank)
    ranks_of[communicator.processes[rank]].push_back(communicator.devices[rank]);
  std::size_t bytes = 0;
  for (const auto& [process, ranks] : ranks_of) bytes += sum_bytes(*info, ranks);
  return bytes;
}

/// Bytes of the data set fields that devices keep. A field counts once on a device, however many actors read it.
std::size_t kept_bytes(const Plan& plan) {
  std::map<std::tuple<Place, std::string, std::int64_t>, std::size_t> kept;
  for (const auto& actor : plan.actors) {
    if (actor.task.kind != "load_rows") continue;
    const auto& fields = actor.task.attributes.list("fields");
    const auto& bytes = actor.task.attributes.list("bytes");
    for (std::size_t i = 0; i < fields.size(); ++i)
      kept[{actor.place, actor.task.subject, fields[i]}] = Allocator::rounded(static_cast<std::size_t>(bytes[i]));
  }
  std::size_t sum = 0;
  for (const auto& [field, bytes] : kept) sum += bytes;
  return sum;
}

}  // namespace

PlanMemory memory_of(const Plan& plan) {
  PlanMemory memory;
  std::map<std::pair<int, std::int32_t>, std::size_t> arenas, scratches;  // shared ones, by process and executor
  const auto raise = [](std::size_t& most, std::size_t bytes) { most = std::max(most, bytes); };
  for (const auto& segment : plan.segments) {
    if (plan.actors[segment.actors[0]].role == ActorRole::external) continue;
    const auto layout = lay_out(plan, segment);
    const auto arena = Allocator::rounded(layout.arena_bytes), scratch = scratch_of(plan, segment);
    const std::pair executor(segment.place.process, segment.executor);
    if (shares_arena(plan, segment, layout))
      raise(arenas[executor], arena);
    else
      memory.arenas += arena;
    if (shares_scratch(plan, segment))
      raise(scratches[executor], scratch);
    else
      memory.scratch += scratch;
    memory.slots += layout.slot_bytes(plan);
    memory.staging += staging_bytes(plan, segment, layout);
  }
  for (const auto& [executor, bytes] : arenas) memory.arenas += bytes;
  for (const auto& [executor, bytes] : scratches) memory.scratch += bytes;
  for (const auto& communicator : plan.communicators) memory.staging += sum_bytes(plan, communicator);
  for (auto bytes : plan.shared_buffers) memory.slots += Allocator::rounded(bytes);
  memory.data = kept_bytes(plan);
  memory.parameters = constant_bytes(plan);
  for (const auto& parameter : plan.parameters) memory.parameters += Allocator::rounded(bytes_of(parameter.info, 1));
  return memory;
}

}  // namespace troupe
