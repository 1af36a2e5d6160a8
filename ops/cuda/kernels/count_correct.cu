#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/kernels/kernels.hpp"
#include "troupe/ops/cuda/kernels/rows.cuh"

namespace troupe::cuda {

namespace {

/// Whether a row is correct: its first largest logit is that of its label. A row is not correct if its label is ignored
/// or is not one of the classes.
struct RowIsRight {
  std::int64_t classes;
  const float* logits;
  const std::int32_t* labels;
  bool has_ignored;
  std::int32_t ignored;

  /// All threads of the row must make the call, and get the result.
  template <class Threads>
  __device__ bool operator()(Threads threads, std::int64_t row) const {
    const auto* x = logits + row * classes;
    const auto label = labels[row];
    const bool counts = label >= 0 && label < classes && !(has_ignored && label == ignored);
    const float label_logit = counts ? x[label] : 0.0F;
    // Comparisons with a NaN are false. So a NaN counts as the largest number if it is the first of the row, and never
    // elsewhere.
    const bool first_is_nan = x[0] != x[0];
    int beaten = !counts || (label != 0 && (first_is_nan || label_logit != label_logit)) ? 1 : 0;
    if (!first_is_nan)
      for (std::int64_t i = threads.lane(); i < classes; i += Threads::kCount)
        if (x[i] > label_logit || (x[i] == label_logit && i < label)) beaten = 1;
    return threads.reduce(beaten, Largest(), 0) == 0;
  }
};

/// Adds 1 to `count` for each correct row. `count` must be 0 before.
struct CountRow {
  RowIsRight is_right;
  unsigned long long* count;

  template <class Threads>
  __device__ void operator()(Threads threads, std::int64_t row) const {
    if (is_right(threads, row) && threads.lane() == 0) atomicAdd(count, 1ULL);
  }
};

/// Counts the correct rows in one block, with a thread for each row.
__global__ void __launch_bounds__(kBlock) count_rows_kernel(std::int64_t rows, RowIsRight is_right, long long* count) {
  long long correct = 0;
  for (auto row = first_element(); row < rows; row += kBlock) correct += is_right(RowThreads<1>(), row) ? 1 : 0;
  correct = block_reduce(correct, Sum(), 0LL);
  if (threadIdx.x == 0) *count = correct;
}

/// Whether the rows are so few and short that one block counts them fast enough. count_rows_kernel then stores the
/// count, which need not be 0 before.
bool are_few(std::int64_t rows, std::int64_t classes) {
  return rows <= 16 * kBlock && classes <= 16;
}

}  // namespace

std::unique_ptr<Kernel> make_count_correct(const OpCall& call) {
  const bool has_ignored = call.attributes.has("ignored");
  const auto ignored = has_ignored ? static_cast<std::int32_t>(call.attributes.integer("ignored")) : 0;
  return cuda_kernel(call, [classes = call.inputs[0].shape.back(0), has_ignored, ignored](const Launch& where,
                                                                                          Inputs in, Outputs out) {
    const RowIsRight is_right{classes, floats(in[0]), data_of<std::int32_t>(in[1]), has_ignored, ignored};
    const auto rows = in[1].elements();
    if (are_few(rows, classes)) {
      launch(where, 1, kBlock, count_rows_kernel, rows, is_right, mutable_data_of<long long>(out[0]));
      return;
    }
    auto* count = mutable_data_of<unsigned long long>(out[0]);
    check(cudaMemsetAsync(count, 0, sizeof *count, where.stream), "count_correct");
    for_each_row(where, rows, classes, CountRow{is_right, count});
  });
}

}  // namespace troupe::cuda
