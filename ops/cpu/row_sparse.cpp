#include <algorithm>
#include <vector>

#include "troupe/ops/cpu/update.hpp"
#include "troupe/ops/graph/graph.hpp"

namespace troupe::cpu {

namespace {

/// Runs `update`, the kernel of an update, on each range of consecutive rows whose gradient is not zero. Input
/// `gradient` is the gradient; this input and the inputs before it are split into rows, except scalars, which are
/// passed whole like the inputs after it.
class RowSparseKernel final : public Kernel {
 public:
  RowSparseKernel(std::size_t gradient, std::unique_ptr<Kernel> update)
      : gradient_(gradient), update_(std::move(update)) {}

  void run(const KernelContext& context, Inputs inputs, Outputs outputs) override {
    in_.resize(inputs.size());
    for (std::size_t i = gradient_ + 1; i < inputs.size(); ++i) in_[i] = inputs[i];
    out_.resize(outputs.size());
    const auto rows = inputs[gradient_].shape()[0];
    for (std::int64_t row = next_row(inputs[gradient_], 0, true); row < rows;) {
      const auto end = next_row(inputs[gradient_], row, false);
      update_rows(context, inputs, outputs, row, end - row);
      row = next_row(inputs[gradient_], end, true);
    }
    in_.clear();
    out_.clear();
  }

 private:
  /// The first row from `row` on whose gradient is not zero or, if `with_gradient` is false, is zero. The number of
  /// rows if there is none.
  static std::int64_t next_row(const Tensor& gradient, std::int64_t row, bool with_gradient) {
    const auto width = gradient.shape().row_elements();
    const auto has_gradient = [&](std::int64_t i) {
      const auto* const first = floats(gradient) + i * width;
      return std::any_of(first, first + width, [](float element) { return element != 0.0F; });
    };
    while (row < gradient.shape()[0] && has_gradient(row) != with_gradient) ++row;
    return row;
  }

  static void view_rows(const Tensor& all, Tensor& view, std::int64_t first, std::int64_t count) {
    if (all.shape().rank() == 0) {
      view = all;
      return;
    }
    const auto row_bytes = static_cast<std::size_t>(all.shape().row_elements()) * size_of(all.dtype());
    all.view_into(view, all.shape().with_first(count), all.dtype(), static_cast<std::size_t>(first) * row_bytes);
  }

  void update_rows(const KernelContext& context, Inputs inputs, Outputs outputs, std::int64_t first,
                   std::int64_t count) {
    for (std::size_t i = 0; i <= gradient_; ++i) view_rows(inputs[i], in_[i], first, count);
    for (std::size_t i = 0; i < outputs.size(); ++i) view_rows(outputs[i], out_[i], first, count);
    update_->run(context, in_, out_);
  }

  std::size_t gradient_;
  std::unique_ptr<Kernel> update_;
  // The inputs and outputs of the update of one range of rows. The vectors are empty between runs but keep their
  // capacity.
  std::vector<Tensor> in_, out_;
};

}  // namespace

std::unique_ptr<Kernel> of_rows_with_gradient(const OpCall& call, std::size_t gradient,
                                              std::unique_ptr<Kernel> update) {
  if (!call.attributes.has(kRowSparse)) return update;
  return std::make_unique<RowSparseKernel>(gradient, std::move(update));
}

}  // namespace troupe::cpu
