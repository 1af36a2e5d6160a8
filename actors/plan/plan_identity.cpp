#include <string_view>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "troupe/actors/plan/plan.hpp"

namespace troupe {

namespace {

/// Writes everything that makes a plan what it is as bytes, each part with its length, so that two plans are equal iff
/// their bytes are.
class Encoder {
 public:
  std::string take() { return std::move(bytes_); }

  void add(std::string_view text) {
    add(static_cast<std::int64_t>(text.size()));
    bytes_ += text;
  }
  void add(std::int64_t number) { bytes_.append(reinterpret_cast<const char*>(&number), sizeof(number)); }
  void add(double number) { bytes_.append(reinterpret_cast<const char*>(&number), sizeof(number)); }
  void add(bool flag) { add(static_cast<std::int64_t>(flag)); }
  void add(std::size_t number) { add(static_cast<std::int64_t>(number)); }
  void add(std::int32_t number) { add(static_cast<std::int64_t>(number)); }

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

  void add(const TensorInfo& info) {
    add(info.shape.list());
    add(static_cast<std::int64_t>(info.dtype));
  }
  void add(const Attribute& value) {
    add(value.index());
    std::visit([this](const auto& held) { add(held); }, value);
  }
  void add(const Attributes& attributes) {
    add(attributes.entries().size());
    for (const auto& [name, value] : attributes.entries()) {
      add(std::string_view(name));
      add(value);
    }
  }
  void add(const OpCall& call) {
    add(call.op->name);
    add(call.attributes);
    add(call.inputs);
    add(call.outputs);
  }
  void add(const Device& device) {
    add(static_cast<std::int64_t>(device.type));
    add(device.index);
  }
  void add(const Place& place) {
    add(place.process);
    add(place.device);
  }
  void add(const ParameterRef& ref) {
    add(std::string_view(ref.name));
    add(ref.replica);
  }
  void add(const PlanParameter& parameter) {
    add(parameter.ref);
    add(parameter.info);
    add(parameter.device);
    add(static_cast<std::int64_t>(parameter.initializer.kind));
    add(parameter.initializer.value);
    add(parameter.trainable);
  }
  void add(const Tensor& tensor) {
    add(static_cast<bool>(tensor));
    if (!tensor) return;
    add(TensorInfo{tensor.shape(), tensor.dtype()});
    add(std::string_view(reinterpret_cast<const char*>(tensor.raw()), tensor.bytes()));
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
    add(std::string_view(task.kind));
    add(std::string_view(task.subject));
    add(task.attributes);
    add(task.call);
  }
  void add(const PlanActor& actor) {
    add(std::string_view(actor.name));
    add(static_cast<std::int64_t>(actor.role));
    add(actor.place);
    add(actor.replica);
    add(actor.inputs);
    add(actor.outputs);
    add(actor.task);
    add(static_cast<std::int64_t>(actor.pacing));
    add(static_cast<std::int64_t>(actor.rule));
    add(actor.alone);
    add(actor.declared_inputs);
  }
  void add(const PlanConsumer& consumer) {
    add(consumer.actor);
    add(consumer.input);
  }
  void add(const PlanEdge& edge) {
    add(std::string_view(edge.name));
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
    add(std::string_view(segment.name));
    add(segment.place);
    add(segment.actors);
    add(segment.executor);
    add(segment.own_thread);
  }
  void add(const PlanCommunicator& communicator) {
    add(std::string_view(communicator.name));
    add(communicator.processes);
  }
  void add(const Plan& plan) {
    add(plan.actors);
    add(plan.edges);
    add(plan.parameters);
    add(plan.communicators);
    add(plan.segments);
    add(plan.shared_buffers);
    add(plan.max_rows);
  }

 private:
  std::string bytes_;
};

std::string encoded(const Plan& plan) {
  Encoder encoder;
  encoder.add(plan);
  return encoder.take();
}

}  // namespace

bool operator==(const Plan& a, const Plan& b) {
  return encoded(a) == encoded(b);
}

std::uint64_t hash_of(const Plan& plan) {
  const auto bytes = encoded(plan);
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace troupe
