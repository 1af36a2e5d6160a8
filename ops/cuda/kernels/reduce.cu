#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/kernels/kernels.hpp"
#include "troupe/ops/cuda/kernels/reduction.cuh"

namespace troupe::cuda {

namespace {

ReductionPlan plan_of(const OpCall& call) {
  return {call.inputs[0].shape, call.attributes.list("axes")};
}

/// Stores a sum divided by the number of its terms.
struct StoreMean {
  float* y;
  float count;
  __device__ void operator()(std::int64_t i, float sum) const { y[i] = sum / count; }
};

/// Makes a kernel that reduces the first input by reduce(). finish_of(in, out) must return the function that stores the
/// combined number of each result, the finish function of reduce().
template <class Combine, class T = float, class FinishOf>
std::unique_ptr<Kernel> reduction_kernel(const OpCall& call, const ReductionPlan& plan, FinishOf finish_of) {
  return cuda_kernel(
      call,
      [plan, finish_of](const Launch& where, Inputs in, Outputs out) {
        reduce<Combine>(where, plan, LoadElement<T>{plan.walks(), data_of<T>(in[0])}, finish_of(in, out));
      },
      plan.scratch_bytes());
}

template <class Combine, class T = float>
std::unique_ptr<Kernel> make_reduction(const OpCall& call) {
  return reduction_kernel<Combine, T>(call, plan_of(call),
                                      [](Inputs, Outputs out) { return StoreNumber{mutable_floats(out[0])}; });
}

/// Loads the squared difference of an element and the mean of the terms of the same result.
struct LoadSquare {
  LoadElement<> element;
  const float* means;
  __device__ float operator()(std::int64_t result, std::int64_t term) const {
    const float distance = element(result, term) - means[result];
    return distance * distance;
  }
};

/// Stores a sum divided by the number of rows of the whole batch, over all replicas.
struct StoreBatchMean {
  const BatchInfo* info;
  float* y;
  __device__ void operator()(std::int64_t, float sum) const { *y = sum / static_cast<float>(info->global_rows); }
};

/// Computes the gradient of one row in the mean over the rows of the whole batch: dy divided by the number of these
/// rows.
struct SpreadMean {
  const BatchInfo* info;
  const float* dy;
  float* dx;
  __device__ void operator()(std::int64_t i) const { dx[i] = *dy / static_cast<float>(info->global_rows); }
};

}  // namespace

std::unique_ptr<Kernel> make_reduce_sum(const OpCall& call) {
  return with_float_type(call.inputs[0].dtype,
                         [&](auto element) { return make_reduction<Sum, decltype(element)>(call); });
}
std::unique_ptr<Kernel> make_reduce_max(const OpCall& call) {
  return make_reduction<Largest>(call);
}
std::unique_ptr<Kernel> make_reduce_min(const OpCall& call) {
  return make_reduction<Smallest>(call);
}

std::unique_ptr<Kernel> make_reduce_mean(const OpCall& call) {
  const auto plan = plan_of(call);
  const auto store_mean = [count = static_cast<float>(plan.sizes().terms)](Inputs, Outputs out) {
    return StoreMean{mutable_floats(out[0]), count};
  };
  return with_float_type(call.inputs[0].dtype, [&](auto element) {
    return reduction_kernel<Sum, decltype(element)>(call, plan, store_mean);
  });
}

// The kernel makes two reductions: of the elements to their means, and of the squared distances from these means to the
// variance. In scratch memory the means follow the memory that the reductions use.
std::unique_ptr<Kernel> make_reduce_variance(const OpCall& call) {
  const auto plan = plan_of(call);
  const auto means_bytes = static_cast<std::size_t>(plan.sizes().results) * sizeof(float);
  return cuda_kernel(
      call,
      [plan](const Launch& where, Inputs in, Outputs out) {
        auto* means = reinterpret_cast<float*>(where.scratch + plan.scratch_bytes());
        const auto count = static_cast<float>(plan.sizes().terms);
        const LoadElement<> element{plan.walks(), floats(in[0])};
        reduce<Sum>(where, plan, element, StoreMean{means, count});
        reduce<Sum>(where, plan, LoadSquare{element, means}, StoreMean{mutable_floats(out[0]), count});
      },
      plan.scratch_bytes() + means_bytes);
}

std::unique_ptr<Kernel> make_batch_mean(const OpCall& call) {
  return reduction_kernel<Sum>(call, {call.inputs[0].shape, {0}}, [](Inputs in, Outputs out) {
    return StoreBatchMean{batch_info_of(in[1]), mutable_floats(out[0])};
  });
}

std::unique_ptr<Kernel> make_batch_mean_grad(const OpCall& call) {
  return cuda_kernel(call, [](const Launch& where, Inputs in, Outputs out) {
    for_each(where, out[0].elements(), SpreadMean{batch_info_of(in[1]), floats(in[0]), mutable_floats(out[0])});
  });
}

}  // namespace troupe::cuda
