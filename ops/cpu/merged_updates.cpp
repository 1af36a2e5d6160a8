#include "troupe/ops/fused/merged_updates.hpp"

#include <vector>

#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/kernels.hpp"

namespace troupe::cpu {

namespace {

/// The kernel of an op that updates several parameters. It updates them one after the other, each by the kernel of the
/// op that updates one parameter. Parameters without elements are skipped.
class MergedUpdateKernel final : public Kernel {
 public:
  MergedUpdateKernel(const OpCall& call, std::unique_ptr<Kernel> (*make_single)(const OpCall& call))
      : update_(merged_update(*call.op, call.attributes, call.inputs.size())) {
    for (std::size_t i = 0; i < update_.parameters; ++i) {
      OpCall single{&single_op_of(*call.op), call.attributes, {}, {}};
      collect<TensorInfo>(call.inputs, call.outputs, i, single.inputs, single.outputs);
      kernels_.push_back(has_empty_tensor(single) ? nullptr : make_single(single));
    }
  }

  void run(const KernelContext& context, Inputs inputs, Outputs outputs) override {
    for (std::size_t i = 0; i < update_.parameters; ++i) {
      if (kernels_[i] == nullptr) continue;
      collect<Tensor>(inputs, outputs, i, in_, out_);
      kernels_[i]->run(context, in_, out_);
    }
    in_.clear();
    out_.clear();
  }

 private:
  /// Collects the inputs and outputs of the update of one parameter, in the order of the op that updates one parameter.
  template <class T>
  void collect(std::span<const T> inputs, std::span<const T> outputs, std::size_t parameter, std::vector<T>& in,
               std::vector<T>& out) const {
    const auto stored = inputs.subspan(update_.first_stored(parameter), update_.stored);
    in.assign(stored.begin(), stored.end());
    in.push_back(inputs[update_.gradient(parameter)]);
    const auto shared = inputs.subspan(update_.first_shared());
    in.insert(in.end(), shared.begin(), shared.end());
    const auto updated = outputs.subspan(update_.first_stored(parameter), update_.stored);
    out.assign(updated.begin(), updated.end());
  }

  MergedUpdate update_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  // The tensors of the update of one parameter. The vectors are empty between runs but keep their capacity.
  std::vector<Tensor> in_, out_;
};

}  // namespace

std::unique_ptr<Kernel> make_sgd_updates(const OpCall& call) {
  return std::make_unique<MergedUpdateKernel>(call, make_sgd_update);
}
std::unique_ptr<Kernel> make_adam_updates(const OpCall& call) {
  return std::make_unique<MergedUpdateKernel>(call, make_adam_update);
}
std::unique_ptr<Kernel> make_squares_updates(const OpCall& call) {
  return std::make_unique<MergedUpdateKernel>(call, make_squares_update);
}

}  // namespace troupe::cpu
