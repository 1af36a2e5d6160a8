#include "troupe/ops/graph/hash.hpp"

namespace troupe {

namespace {

struct AddValue {
  Hash& hash;
  void operator()(const std::vector<std::int64_t>& list) const {
    hash.add(list.size()).add_bytes(list.data(), list.size() * sizeof(std::int64_t));
  }
  void operator()(auto value) const { hash.add(value); }
};

void add_to(Hash& hash, const Tensor& tensor) {
  hash.add(static_cast<bool>(tensor));
  if (!tensor) return;
  const auto elements = tensor.copy_to_host();
  hash.add_bytes(elements.raw(), elements.bytes());
}

void add_to(Hash& hash, const Node& node) {
  hash.add(node.op->name).add(node.name);
  add_to(hash, node.attributes);
  hash.add(node.inputs.size()).add_bytes(node.inputs.data(), node.inputs.size() * sizeof(ValueId));
  hash.add(static_cast<int>(node.initializer.kind)).add(node.initializer.value).add(node.trainable);
  add_to(hash, node.constant);
  hash.add(node.outputs.size());
}

}  // namespace

void add_to(Hash& hash, const Shape& shape) {
  hash.add(shape.rank()).add_bytes(shape.sizes().data(), shape.rank() * sizeof(std::int64_t));
}

void add_to(Hash& hash, const TensorInfo& info) {
  add_to(hash, info.shape);
  hash.add(static_cast<int>(info.dtype));
}

void add_to(Hash& hash, const Attributes& attributes) {
  hash.add(attributes.entries().size());
  for (const auto& [name, value] : attributes.entries()) {
    hash.add(name).add(value.index());
    std::visit(AddValue{hash}, value);
  }
}

void add_to(Hash& hash, const OpCall& call) {
  hash.add(call.op->name);
  add_to(hash, call.attributes);
  for (const auto* infos : {&call.inputs, &call.outputs}) {
    hash.add(infos->size());
    for (const auto& info : *infos) add_to(hash, info);
  }
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
  for (const auto& named : graph.outputs()) hash.add(named.name).add(named.value);
  return hash.digest();
}

}  // namespace troupe
