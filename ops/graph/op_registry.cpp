#include <map>
#include <mutex>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

namespace {

/// The shape rule of sources (inputs, parameters and constants). Always throws Error, because GraphBuilder::apply()
/// cannot add a source; other functions of GraphBuilder add them.
std::vector<TensorInfo> infer_nothing(const OpInputs& inputs) {
  inputs.refuse("cannot be applied; GraphBuilder has a function that adds it");
}

/// The registered ops by name. Thread-safe.
class OpRegistry {
 public:
  OpRegistry() {
    for (const auto* op : built_in_ops()) add(*op);
  }

  void add(const OpDef& op) {
    if (op.name.empty()) throw Error("graph", "an op needs a name");
    if (op.infer == nullptr) throw Error(op.name, "has no shape rule");
    std::lock_guard lock(mutex_);
    if (!ops_.try_emplace(op.name, &op).second) throw Error(op.name, "there is an op of that name already");
  }

  const OpDef& find(std::string_view name) const {
    std::lock_guard lock(mutex_);
    const auto entry = ops_.find(name);
    if (entry == ops_.end()) throw Error("graph", "there is no op '" + std::string(name) + "'");
    return *entry->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string_view, const OpDef*> ops_;
};

OpRegistry& registry() {
  static OpRegistry ops;
  return ops;
}

}  // namespace

const OpDef kInput{.name = "input", .kind = OpKind::source, .infer = infer_nothing};
const OpDef kParameter{.name = "parameter", .kind = OpKind::source, .infer = infer_nothing};
const OpDef kConstant{.name = "constant", .kind = OpKind::source, .infer = infer_nothing};

std::span<const OpDef* const> built_in_ops() {
  static constexpr const OpDef* kOps[] = {
#define TROUPE_OP(op, factory) &op,
#define TROUPE_OP_WITHOUT_KERNEL(op) &op,
#include "troupe/ops/graph/op_list.def"
  };
  return kOps;
}

void register_op(const OpDef& op) {
  registry().add(op);
}

const OpDef& find_op(std::string_view name) {
  return registry().find(name);
}

}  // namespace troupe
