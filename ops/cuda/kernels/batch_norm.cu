#include <numeric>

#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/device/functions.cuh"
#include "troupe/ops/cuda/kernels/column_sums.cuh"
#include "troupe/ops/cuda/kernels/kernels.hpp"

namespace troupe::cuda {

namespace {

/// The kernel of for_each_by_channel(). The number of threads must be a multiple of `channels`, so that all elements of
/// a thread belong to one channel.
template <class Function>
__global__ void __launch_bounds__(kBlock) channels_kernel(std::int64_t n, std::int64_t channels, Function function) {
  auto i = first_element();
  if (i >= n) return;
  const auto of_channel = function.channel(i % channels);
  for (; i < n; i += element_stride()) function.element(of_channel, i);
}

/// Calls function.element(function.channel(c), i) on the device for every i below n, in any order, where c is the
/// channel of element i of an array [..., channels].
template <class Function>
void for_each_by_channel(const Launch& where, std::int64_t n, std::int64_t channels, const Function& function) {
  const auto unit = channels / std::gcd(channels, std::int64_t{kBlock});
  const auto blocks = divided_up(blocks_for(n), unit) * unit;
  launch(where, static_cast<unsigned>(blocks), kBlock, channels_kernel<Function>, n, channels, function);
}

__device__ float inverse_deviation(float variance, float epsilon) {
  return 1.0F / sqrtf(variance + epsilon);
}

/// Computes the mean of up to 16 pixels at equal distances, as a center near the mean of all pixels.
struct MeanOfSample {
  std::int64_t pixels, channels;
  const float* x;
  float* center;
  __device__ void operator()(std::int64_t c) const {
    const std::int64_t count = pixels < 16 ? pixels : 16;
    const float weight = 1.0F / static_cast<float>(count);
    float mean = 0.0F;
    for (std::int64_t i = 0; i < count; ++i) mean += x[i * pixels / count * channels + c] * weight;
    center[c] = mean;
  }
};

/// The two terms that replica_moments adds up for an element x: x - center and its square. `center` has one number for
/// each channel.
struct SquareTerms {
  std::int64_t channels;
  const float* x;
  const float* center;
  __device__ void operator()(std::int64_t row, std::int64_t c, float (&numbers)[2]) const {
    const float distance = x[row * channels + c] - center[c];
    numbers[0] = distance;
    numbers[1] = distance * distance;
  }
};

/// Stores, for a channel, the sum of dy and the sum of dy times the normalized x.
struct StoreProducts {
  std::int64_t channels;
  float epsilon;
  const float* variance;
  float* sums;
  __device__ void operator()(std::int64_t c, const float (&combined)[2]) const {
    sums[c] = combined[0];
    sums[channels + c] = combined[1] * inverse_deviation(variance[c], epsilon);
  }
};

/// Stores the moments of a channel: its count, its mean, which takes the place of the center, and the sum of squares
/// about the mean. `combined` has the sums of SquareTerms.
struct StoreMoments {
  std::int64_t pixels, channels;
  float* moments;
  __device__ void operator()(std::int64_t c, const float (&combined)[2]) const {
    const double distance = combined[0] / static_cast<double>(pixels);
    const double squares = combined[1] - combined[0] * distance;
    moments[c] = static_cast<float>(pixels);
    moments[channels + c] = static_cast<float>(moments[channels + c] + distance);
    moments[2 * channels + c] = static_cast<float>(squares < 0.0 ? 0.0 : squares);
  }
};

/// Computes the mean and variance of a channel over the whole batch from the moments of the replicas, by the formulas
/// of Chan, Golub and LeVeque (1979). Channel 0 also stores the number of elements of a channel.
struct CombineMoments {
  std::int64_t replicas, channels;
  const float* parts;
  float* mean_of;
  float* variance_of;
  float* counted;
  __device__ void operator()(std::int64_t c) const {
    double count = 0.0, mean = 0.0, squares = 0.0;
    for (std::int64_t replica = 0; replica < replicas; ++replica) {
      const float* part = parts + replica * 3 * channels + c;
      if (part[0] == 0.0F) continue;
      const double total = count + part[0], distance = part[channels] - mean;
      squares += part[2 * channels] + distance * distance * (count / total) * part[0];
      mean += distance * (part[0] / total);
      count = total;
    }
    if (count < 1.0) count = 1.0;
    mean_of[c] = static_cast<float>(mean);
    variance_of[c] = static_cast<float>(squares / count);
    if (c == 0) *counted = static_cast<float>(count);
  }
};

/// The numbers of a channel by which its elements are normalized: y = (x - mean) * factor + shift, where factor = scale
/// / deviation. The mean is subtracted first: x * factor - mean * factor would round away the digits in which x differs
/// from a large mean.
struct Normalization {
  float mean, factor, shift;
  __device__ float operator()(float x) const { return (x - mean) * factor + shift; }
};
__device__ Normalization normalization(std::int64_t c, float epsilon, const float* mean, const float* variance,
                                       const float* scale, const float* shift) {
  return {mean[c], inverse_deviation(variance[c], epsilon) * scale[c], shift[c]};
}

/// Normalizes the elements, adds `residual` unless it is null, and applies the relu if `relu` is true.
struct Normalize {
  float epsilon;
  bool relu;
  const float* x;
  const float* mean;
  const float* variance;
  const float* scale;
  const float* shift;
  const float* residual;
  float* y;

  __device__ Normalization channel(std::int64_t c) const {
    return normalization(c, epsilon, mean, variance, scale, shift);
  }
  __device__ void element(const Normalization& of, std::int64_t i) const {
    float result = of(x[i]);
    if (residual != nullptr) result += residual[i];
    y[i] = relu && result < 0.0F ? 0.0F : result;
  }
};

/// The terms of the sums in the gradient: dy, and dy times the difference of x and the mean of its channel.
struct ProductTerms {
  std::int64_t channels;
  const float* dy;
  const float* x;
  const float* mean;
  __device__ void operator()(std::int64_t row, std::int64_t c, float (&numbers)[2]) const {
    const float d = dy[row * channels + c];
    numbers[0] = d;
    numbers[1] = d * (x[row * channels + c] - mean[c]);
  }
};
/// The same where dy is the gradient of a relu of the normalized elements: dy counts only where they are above 0.
struct ReluProductTerms {
  std::int64_t channels;
  float epsilon;
  const float* dy;
  const float* x;
  const float* mean;
  const float* variance;
  const float* scale;
  const float* shift;
  __device__ void operator()(std::int64_t row, std::int64_t c, float (&numbers)[2]) const {
    const auto norm = normalization(c, epsilon, mean, variance, scale, shift);
    const float element = x[row * channels + c];
    const float d = ReluGrad{}(dy[row * channels + c], norm(element));
    numbers[0] = d;
    numbers[1] = d * (element - norm.mean);
  }
};
/// The same where dy is the gradient of a relu with the result y. Stores the gradient before the relu in dz.
struct KeptProductTerms {
  std::int64_t channels;
  const float* dy;
  const float* x;
  const float* mean;
  const float* y;
  float* dz;
  __device__ void operator()(std::int64_t row, std::int64_t c, float (&numbers)[2]) const {
    const auto i = row * channels + c;
    numbers[0] = ReluGrad{}(dy[i], y[i]);
    numbers[1] = numbers[0] * (x[i] - mean[c]);
  }
  __device__ void keep(std::int64_t row, std::int64_t c, const float (&numbers)[2]) const {
    dz[row * channels + c] = numbers[0];
  }
};

// Computes dx = scale / deviation * (dy - mean(dy) - z * mean(dy * z)), where z is the normalized x and the two means
// are those of a channel over the whole batch, `sums` divided by `count`. If `sums` is null, the mean and the variance
// of x are constants, and the two means count as 0. Unless `shift` is null, dy is the gradient of a relu of the
// normalized elements, and counts only where they are above 0.
struct NormalizeGrad {
  std::int64_t channels;
  float epsilon;
  const float* dy;
  const float* x;
  const float* mean;
  const float* variance;
  const float* scale;
  const float* count;
  const float* sums;
  const float* shift;
  float* dx;

  struct Channel {
    Normalization norm;
    float along, shift;
  };
  __device__ Channel channel(std::int64_t c) const {
    const float deviation = inverse_deviation(variance[c], epsilon), factor = scale[c] * deviation;
    const Normalization norm{mean[c], factor, shift != nullptr ? shift[c] : 0.0F};
    if (sums == nullptr) return {norm, 0.0F, 0.0F};
    return {norm, factor * deviation * sums[channels + c] / *count, factor * sums[c] / *count};
  }
  __device__ void element(const Channel& of, std::int64_t i) const {
    const float dz = shift != nullptr ? ReluGrad{}(dy[i], of.norm(x[i])) : dy[i];
    dx[i] = dz * of.norm.factor - (x[i] - of.norm.mean) * of.along - of.shift;
  }
};

ColumnSums<2> sums_of(const Shape& shape) {
  return {shape.elements() / shape.back(0), shape.back(0)};
}

}  // namespace

// The means in the result hold the centers until StoreMoments() replaces them.
std::unique_ptr<Kernel> make_replica_moments(const OpCall& call) {
  const auto sums = sums_of(call.inputs[0].shape);
  const auto channels = call.inputs[0].shape.back(0), pixels = call.inputs[0].shape.elements() / channels;
  return cuda_kernel(
      call,
      [=](const Launch& where, Inputs in, Outputs out) {
        auto* moments = mutable_floats(out[0]);
        for_each(where, channels, MeanOfSample{pixels, channels, floats(in[0]), moments + channels});
        sums.run(where, where.scratch, SquareTerms{channels, floats(in[0]), moments + channels},
                 StoreMoments{pixels, channels, moments});
      },
      sums.scratch_bytes());
}

std::unique_ptr<Kernel> make_batch_moments(const OpCall& call) {
  const auto& shape = call.inputs[0].shape;
  return cuda_kernel(call, [replicas = shape[0], channels = shape[2]](const Launch& where, Inputs in, Outputs out) {
    for_each(where, channels,
             CombineMoments{replicas, channels, floats(in[0]), mutable_floats(out[0]), mutable_floats(out[1]),
                            mutable_floats(out[2])});
  });
}

std::unique_ptr<Kernel> make_batch_norm(const OpCall& call) {
  return cuda_kernel(call, [channels = call.inputs[0].shape.back(0), epsilon = option(call, "epsilon"),
                            relu = call.attributes.flag("relu")](const Launch& where, Inputs in, Outputs out) {
    for_each_by_channel(where, in[0].elements(), channels,
                        Normalize{epsilon, relu, floats(in[0]), floats(in[1]), floats(in[2]), floats(in[3]),
                                  floats(in[4]), optional_data_of(in, 6), mutable_floats(out[0])});
  });
}

std::unique_ptr<Kernel> make_batch_norm_grad_sums(const OpCall& call) {
  const auto sums = sums_of(call.inputs[1].shape);
  return cuda_kernel(
      call,
      [sums, channels = call.inputs[1].shape.back(0), epsilon = option(call, "epsilon")](const Launch& where, Inputs in,
                                                                                         Outputs out) {
        const auto *dy = floats(in[0]), *x = floats(in[1]), *mean = floats(in[2]), *variance = floats(in[3]);
        const StoreProducts store{channels, epsilon, variance, mutable_floats(out[0])};
        if (in.size() == 6)
          sums.run(where, where.scratch,
                   ReluProductTerms{channels, epsilon, dy, x, mean, variance, floats(in[4]), floats(in[5])}, store);
        else if (in.size() == 5)
          sums.run(where, where.scratch, KeptProductTerms{channels, dy, x, mean, floats(in[4]), mutable_floats(out[1])},
                   store);
        else
          sums.run(where, where.scratch, ProductTerms{channels, dy, x, mean}, store);
      },
      sums.scratch_bytes());
}

std::unique_ptr<Kernel> make_batch_norm_grad(const OpCall& call) {
  const bool of_batch = call.attributes.flag("of_batch"), relu = call.attributes.flag("relu");
  return cuda_kernel(call, [=, channels = call.inputs[1].shape.back(0), epsilon = option(call, "epsilon")](
                               const Launch& where, Inputs in, Outputs out) {
    const auto* sums = of_batch ? floats(in[6]) : nullptr;
    const auto* shift = relu ? floats(in[of_batch ? 7 : 6]) : nullptr;
    for_each_by_channel(where, in[0].elements(), channels,
                        NormalizeGrad{channels, epsilon, floats(in[0]), floats(in[1]), floats(in[2]), floats(in[3]),
                                      floats(in[4]), floats(in[5]), sums, shift, mutable_floats(out[0])});
  });
}

}  // namespace troupe::cuda
