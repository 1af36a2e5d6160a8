#include "troupe/ops/cuda/cuda_kernel.hpp"
#include "troupe/ops/cuda/kernels.hpp"
#include "troupe/ops/cuda/rows.cuh"

namespace troupe::cuda {

namespace {

/// Counts the rows whose first largest logit is that of the label.
struct CountRow {
  std::int64_t classes;
  const float* logits;
  const std::int32_t* labels;
  bool has_ignored;
  std::int32_t ignored;
  unsigned long long* count;

  template <class Threads>
  __device__ void operator()(Threads threads, std::int64_t row) const {
    const auto* x = logits + row * classes;
    const auto label = labels[row];
    const bool counts = label >= 0 && label < classes && !(has_ignored && label == ignored);
    const float own = counts ? x[label] : 0.0F;
    // A NaN is larger than nothing, and nothing is larger than one: it wins where it is the first number, and loses
    // elsewhere.
    const bool first_is_nan = x[0] != x[0];
    int beaten = !counts || (label != 0 && (first_is_nan || own != own)) ? 1 : 0;
    if (!first_is_nan)
      for (std::int64_t i = threads.lane(); i < classes; i += Threads::kCount)
        if (x[i] > own || (x[i] == own && i < label)) beaten = 1;
    beaten = threads.reduce(beaten, Largest(), 0);
    if (threads.lane() == 0 && beaten == 0) atomicAdd(count, 1ULL);
  }
};

}  // namespace

std::unique_ptr<Kernel> make_count_correct(const OpCall& call) {
  const bool has_ignored = call.attributes.has("ignored");
  const auto ignored = has_ignored ? static_cast<std::int32_t>(call.attributes.integer("ignored")) : 0;
  return cuda_kernel(call, [classes = call.inputs[0].shape.back(0), has_ignored, ignored](const Launch& where,
                                                                                          Inputs in, Outputs out) {
    auto* count = mutable_data_of<unsigned long long>(out[0]);
    check(cudaMemsetAsync(count, 0, sizeof *count, where.stream), "count_correct");
    for_each_row(where, in[1].elements(), classes,
                 CountRow{classes, floats(in[0]), data_of<std::int32_t>(in[1]), has_ignored, ignored, count});
  });
}

}  // namespace troupe::cuda
