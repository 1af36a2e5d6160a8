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

/// Writes everything that identifies a plan, each list with its length.
class PlanWriter {
 public:
  explicit PlanWriter(ByteSequence& to) : to_(to) {}

  void add(const Plan& plan) {
    add(plan.actors);
    add(plan.edges);
    add(plan.parameters);
    add(plan.communicators);
    add(plan.segments);
    add(plan.shared_buffers);
    add(plan.max_rows);
    add(plan.expendable);
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

  void add(const Device& device) {
    add(device.type);
    add(device.index);
  }
  void add(const Place& place) {
    add(place.process);
    add(place.device);
  }
  void add(const ParameterRef& ref) {
    add(ref.name);
    add(ref.replica);
  }
  void add(const HeldParameter& parameter) {
    add(parameter.ref);
    add(parameter.written);
    add(parameter.rows);
  }
  void add(const RowRange& rows) {
    add(rows.first);
    add(rows.count);
  }
  void add(const PlanParameter& parameter) {
    add(parameter.ref);
    add(parameter.info);
    add(parameter.device);
    add(parameter.initializer);
    add(parameter.trainable);
    add(parameter.per_replica);
  }
  void add(const PlanInput& input) {
    add(input.edge);
    add(input.info);
    add(input.byte_offset);
    add(input.parameter);
    add(input.constant);
    add(input.holds);
  }
  void add(const PlanOutput& output) {
    add(output.edge);
    add(output.info);
    add(output.parameter);
    add(output.alias_of);
    add(output.pack_offsets);
  }
  void add(const PlanTask& task) {
    add(task.kind);
    add(task.subject);
    add(task.attributes);
    add(task.call);
  }
  void add(const PlanActor& actor) {
    add(actor.name);
    add(actor.role);
    add(actor.place);
    add(actor.replica);
    add(actor.inputs);
    add(actor.outputs);
    add(actor.task);
    add(actor.pacing);
    add(actor.rule);
    add(actor.alone);
    add(actor.declared_inputs);
    add(actor.parameters);
  }
  void add(const PlanConsumer& consumer) {
    add(consumer.actor);
    add(consumer.input);
  }
  void add(const PlanEdge& edge) {
    add(edge.name);
    add(edge.producer);
    add(edge.output);
    add(edge.consumers);
    add(edge.capacity);
    add(edge.initial_tokens);
    add(edge.info);
    add(edge.shared_buffer);
    add(edge.shared_offset);
  }
  void add(const PlanSegment& segment) {
    add(segment.name);
    add(segment.place);
    add(segment.actors);
    add(segment.executor);
    add(segment.own_thread);
    add(segment.stream);
  }
  void add(const PlanCommunicator& communicator) {
    add(communicator.name);
    add(communicator.processes);
    add(communicator.all_reduce);
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
