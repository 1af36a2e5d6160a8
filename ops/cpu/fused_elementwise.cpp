#include "troupe/ops/fused/fused_elementwise.hpp"

#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/kernels.hpp"

namespace troupe::cpu {

namespace {

/// The kernel of fused_elementwise. It runs the kernels of the fused ops one after the other, so the result has the
/// bits of these ops. Speed does not matter, because passes fuse element-wise ops only in graphs for GPUs.
class FusedKernel final : public Kernel {
 public:
  explicit FusedKernel(const OpCall& call) : inputs_(call.inputs.size()) {
    auto infos = call.inputs;
    for (const auto& step : Formula::from(call.attributes).steps) {
      const OpCall single{&op_of(step.op), step.attributes(), operands_of<TensorInfo>(step, infos), call.outputs};
      steps_.push_back({step, make_kernel(single, Device{})});
      infos.push_back(call.outputs[0]);
    }
    for (std::size_t i = 0; i + 1 < steps_.size(); ++i)
      results_.emplace_back(call.outputs[0].shape, call.outputs[0].dtype);
  }

  void run(const KernelContext& context, Inputs inputs, Outputs outputs) override {
    values_.assign(inputs.begin(), inputs.end());
    values_.insert(values_.end(), results_.begin(), results_.end());
    values_.push_back(outputs[0]);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const auto operands = operands_of<Tensor>(steps_[i].step, values_);
      steps_[i].kernel->run(context, operands, std::span(values_).subspan(inputs_ + i, 1));
    }
    values_.clear();
  }

 private:
  /// A step of the formula and the kernel that runs it.
  struct Step {
    FormulaStep step;
    std::unique_ptr<Kernel> kernel;
  };

  template <class T>
  static std::vector<T> operands_of(const FormulaStep& step, const std::vector<T>& values) {
    std::vector<T> operands;
    operands.reserve(2);
    operands.push_back(values[static_cast<std::size_t>(step.operands[0])]);
    if (step.has_two_operands()) operands.push_back(values[static_cast<std::size_t>(step.operands[1])]);
    return operands;
  }

  std::size_t inputs_;
  std::vector<Step> steps_;
  /// The results of all steps but the last.
  std::vector<Tensor> results_;
  // The inputs and results of all steps in one run. The vector is empty between runs but keeps its capacity.
  std::vector<Tensor> values_;
};

}  // namespace

std::unique_ptr<Kernel> make_fused_elementwise(const OpCall& call) {
  return std::make_unique<FusedKernel>(call);
}

}  // namespace troupe::cpu
