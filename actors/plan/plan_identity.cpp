#include <algorithm>
#include <concepts>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/ops/core/hash.hpp"
#include "troupe/ops/graph/hash.hpp"

namespace troupe {

namespace {

/// Writes everything that identifies a plan to a sequence of bytes, each list with its length in front.
class PlanWriter {
 public:
  explicit PlanWriter(ByteSequence& to) : to_(to) {}

  void add(const Plan& plan) {
    add_all(plan.actors, plan.edges, plan.parameters, plan.communicators, plan.segments, plan.shared_buffers,
            plan.max_rows, plan.expendable);
  }

 private:
  template <class T>
  void add(const std::vector<T>& items) {
    add(items.size());
    for (const auto& item : items) add(item);
  }
  template <class T>
  void add(const std::optional<T>& item) {
    add(item.has_value());
    if (item) add(*item);
  }
  template <class T>
  requires std::integral<T> || std::convertible_to<T, std::string_view>
  void add(const T& value) { to_.add(value); }
  template <class T>
  requires std::is_enum_v<T>
  void add(T value) { to_.add(static_cast<int>(value)); }
  template <class T>
  requires requires(ByteSequence& to, const T& value) { add_to(to, value); }
  void add(const T& value) { add_to(to_, value); }

  /// Writes the members of a struct.
  template <class... Members>
  void add_all(const Members&... members) {
    (add(members), ...);
  }
  void add(const Device& device) { add_all(device.type, device.index); }
  void add(const Place& place) { add_all(place.process, place.device); }
  void add(const ParameterRef& ref) { add_all(ref.name, ref.replica); }
  void add(const RowRange& rows) { add_all(rows.first, rows.count); }
  void add(const HeldParameter& held) {
    add_all(held.ref, held.written, held.rows, held.equal_updates, held.needs_whole_run);
  }
  void add(const PlanParameter& parameter) {
    add_all(parameter.ref, parameter.info, parameter.device, parameter.initializer, parameter.trainable,
            parameter.per_replica);
  }
  void add(const PlanInput& input) {
    add_all(input.edge, input.info, input.byte_offset, input.parameter, input.constant, input.holds);
  }
  void add(const PlanOutput& output) {
    add_all(output.edge, output.info, output.parameter, output.alias_of, output.pack_offsets);
  }
  void add(const PlanTask& task) { add_all(task.kind, task.subject, task.attributes, task.call); }
  void add(const PlanActor& actor) {
    add_all(actor.name, actor.role, actor.place, actor.replica, actor.inputs, actor.outputs, actor.task, actor.pacing,
            actor.rule, actor.alone, actor.declared_inputs, actor.parameters);
  }
  void add(const PlanConsumer& consumer) { add_all(consumer.actor, consumer.input); }
  void add(const PlanEdge& edge) {
    add_all(edge.name, edge.producer, edge.output, edge.consumers, edge.capacity, edge.initial_tokens, edge.info,
            edge.shared_buffer, edge.shared_offset);
  }
  void add(const PlanSegment& segment) {
    add_all(segment.name, segment.place, segment.actors, segment.executor, segment.own_thread, segment.stream);
  }
  void add(const PlanCommunicator& communicator) {
    add_all(communicator.name, communicator.processes, communicator.all_reduce);
    if (!communicator.devices.empty()) add(communicator.devices);
  }

  ByteSequence& to_;
};

std::string bytes_of(const Plan& plan) {
  ByteString bytes;
  PlanWriter(bytes).add(plan);
  return bytes.bytes();
}

}  // namespace

bool operator==(const Plan& a, const Plan& b) {
  return bytes_of(a) == bytes_of(b);
}

std::uint64_t hash_of(const Plan& plan) {
  Hash hash;
  PlanWriter(hash).add(plan);
  return hash.digest();
}

std::uint64_t hash_of_program(const Plan& plan) {
  auto program = plan;
  for (auto& actor : program.actors) actor.place = {};
  for (auto& parameter : program.parameters) parameter.device = {};
  for (auto& communicator : program.communicators) {
    std::ranges::fill(communicator.processes, 0);
    communicator.devices.clear();
  }
  for (auto& edge : program.edges) {
    edge.shared_buffer = kNone;
    edge.shared_offset = 0;
  }
  program.segments.clear();
  program.shared_buffers.clear();
  program.expendable.clear();
  return hash_of(program);
}

}  // namespace troupe
