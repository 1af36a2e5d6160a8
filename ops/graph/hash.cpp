#include "troupe/ops/graph/hash.hpp"

namespace troupe {

namespace {

/// Visitor of an Attribute: adds a value of any type to `sequence`.
struct AddValue {
  ByteSequence& sequence;
  void operator()(const std::vector<std::int64_t>& list) const {
    sequence.add(list.size());
    sequence.add_bytes(list.data(), list.size() * sizeof(std::int64_t));
  }
  void operator()(auto value) const { sequence.add(value); }
};

void add_to(ByteSequence& sequence, const Node& node) {
  sequence.add(node.op->name);
  sequence.add(node.name);
  add_to(sequence, node.attributes);
  sequence.add(node.inputs.size());
  sequence.add_bytes(node.inputs.data(), node.inputs.size() * sizeof(ValueId));
  add_to(sequence, node.initializer);
  sequence.add(node.trainable);
  add_to(sequence, node.constant);
  sequence.add(node.outputs.size());
}

}  // namespace

void add_to(ByteSequence& sequence, const TensorInfo& info) {
  sequence.add(info.shape.rank());
  sequence.add_bytes(info.shape.sizes().data(), info.shape.rank() * sizeof(std::int64_t));
  sequence.add(static_cast<int>(info.dtype));
}

void add_to(ByteSequence& sequence, const Attributes& attributes) {
  sequence.add(attributes.entries().size());
  for (const auto& [name, value] : attributes.entries()) {
    sequence.add(name);
    sequence.add(value.index());
    std::visit(AddValue{sequence}, value);
  }
}

void add_to(ByteSequence& sequence, const OpCall& call) {
  sequence.add(call.op->name);
  add_to(sequence, call.attributes);
  for (const auto* infos : {&call.inputs, &call.outputs}) {
    sequence.add(infos->size());
    for (const auto& info : *infos) add_to(sequence, info);
  }
}

void add_to(ByteSequence& sequence, const Initializer& initializer) {
  sequence.add(static_cast<int>(initializer.kind));
  sequence.add(initializer.value);
}

void add_to(ByteSequence& sequence, const Tensor& tensor) {
  sequence.add(static_cast<bool>(tensor));
  if (!tensor) return;
  add_to(sequence, TensorInfo{tensor.shape(), tensor.dtype()});
  const auto elements = tensor.copy_to_host();
  sequence.add_bytes(elements.raw(), elements.bytes());
}

std::uint64_t hash_of(const OpCall& call) {
  Hash hash;
  add_to(hash, call);
  return hash.digest();
}

std::uint64_t hash_of(const Graph& graph) {
  Hash hash;
  for (const auto& node : graph.nodes()) {
    add_to(hash, node);
    for (auto output : node.outputs) add_to(hash, graph.info(output));
  }
  for (const auto& named : graph.outputs()) {
    hash.add(named.name);
    hash.add(named.value);
  }
  return hash.digest();
}

}  // namespace troupe
