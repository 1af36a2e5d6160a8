#include "troupe/ops/cpu/channel_normalization.hpp"
#include "troupe/ops/cpu/kernels.hpp"

namespace troupe::cpu {

namespace {

/// Adds the terms of gradients d of elements `from` whose means are given.
[[gnu::always_inline]] inline void add_terms(const EvenOdd& d, const EvenOdd& from, const EvenOdd& mean, EvenOdd& sum,
                                             EvenOdd& product) {
  sum.even += d.even;
  sum.odd += d.odd;
  product.even += d.even * (from.even - mean.even);
  product.odd += d.odd * (from.odd - mean.odd);
}

/// Adds the sums after change(begin, d) has changed the gradients d of the elements from `begin` on.
template <class Change>
[[gnu::always_inline]] inline void add_products_of_pairs(std::int64_t n, std::int64_t runs, const BFloat16* dy,
                                                         const BFloat16* x, const float* mean, float* sums,
                                                         float* products, Change change) {
  add_runs_of_pairs(n, runs, sums, products, [=](std::int64_t i) {
    EvenOdd means;
    load(mean + i, means);
    return [=](std::int64_t begin, EvenOdd& sum, EvenOdd& product) {
      EvenOdd d, from;
      load(dy + begin, d);
      load(x + begin, from);
      change(begin, d);
      add_terms(d, from, means, sum, product);
    };
  });
}

[[gnu::always_inline]] inline void add_relu_products_of_pairs(std::int64_t n, std::int64_t runs, const BFloat16* dy,
                                                              const BFloat16* x, const ChannelNormalization& by,
                                                              float* sums, float* products) {
  add_runs_of_pairs(n, runs, sums, products, [=](std::int64_t i) {
    return [=, norm = EvenOddNormalization(by, i)](std::int64_t begin, EvenOdd& sum, EvenOdd& product) {
      EvenOdd d, from, y;
      load(dy + begin, d);
      load(x + begin, from);
      norm.normalize(from, y);
      keep_where_positive(y.even, d.even);
      keep_where_positive(y.odd, d.odd);
      add_terms(d, from, norm.mean, sum, product);
    };
  });
}

template <class T>
[[gnu::always_inline]] inline void add_products_of(std::int64_t n, std::int64_t runs, const T* __restrict dy,
                                                   const T* __restrict x, const float* __restrict mean,
                                                   float* __restrict sums, float* __restrict products) {
  if constexpr (std::is_same_v<T, BFloat16>)
    if (n % kEvenOdd == 0) return add_products_of_pairs(n, runs, dy, x, mean, sums, products, [](const auto&...) {});
  add_runs(n, runs, sums, products, [=](std::int64_t begin, std::int64_t i, float& sum, float& product) {
    const auto d = static_cast<float>(dy[begin + i]);
    sum += d;
    product += d * (static_cast<float>(x[begin + i]) - mean[i]);
  });
}

/// Adds the same sums of the gradient before a relu of the normalized elements. That gradient is dy where the
/// normalized element is above 0, and 0 elsewhere.
template <class T>
[[gnu::always_inline]] inline void add_relu_products_of(std::int64_t n, std::int64_t runs, const T* __restrict dy,
                                                        const T* __restrict x, const ChannelNormalization& by,
                                                        float* __restrict sums, float* __restrict products) {
  if constexpr (std::is_same_v<T, BFloat16>)
    if (n % kEvenOdd == 0) return add_relu_products_of_pairs(n, runs, dy, x, by, sums, products);
  const ChannelNormalization of = by;
  add_runs(n, runs, sums, products, [=](std::int64_t begin, std::int64_t i, float& sum, float& product) {
    const auto from = static_cast<float>(x[begin + i]), d = static_cast<float>(dy[begin + i]);
    const float dz = normalized(of, i, from) > 0.0F ? d : 0.0F;
    sum += dz;
    product += dz * (from - of.mean[i]);
  });
}

/// Adds the same sums of the gradient before a relu whose result is y, and stores that gradient in dz.
template <class T>
[[gnu::always_inline]] inline void add_kept_products_of(std::int64_t n, std::int64_t runs, const T* __restrict dy,
                                                        const T* __restrict x, const float* __restrict mean,
                                                        const T* __restrict y, T* __restrict dz, float* __restrict sums,
                                                        float* __restrict products) {
  if constexpr (std::is_same_v<T, BFloat16>)
    if (n % kEvenOdd == 0)
      return add_products_of_pairs(n, runs, dy, x, mean, sums, products, [=](std::int64_t begin, EvenOdd& d) {
        EvenOdd result;
        load(y + begin, result);
        keep_where_positive(result.even, d.even);
        keep_where_positive(result.odd, d.odd);
        store(d, dz + begin);
      });
  add_runs(n, runs, sums, products, [=](std::int64_t begin, std::int64_t i, float& sum, float& product) {
    const auto from = static_cast<float>(x[begin + i]), d = static_cast<float>(dy[begin + i]);
    const float before = static_cast<float>(y[begin + i]) > 0.0F ? d : 0.0F;
    dz[begin + i] = T(before);
    sum += before;
    product += before * (from - mean[i]);
  });
}

/// The numbers by which the gradient of elements x is computed: dx = dy * factor - (x - mean) * along - shift, repeated
/// like the channels.
struct InputGradient {
  const float *factor, *along, *shift;
};

[[gnu::always_inline]] inline void input_grad_of_pairs(std::int64_t n, std::int64_t runs, const InputGradient& by,
                                                       const ChannelNormalization& norm, const BFloat16* dy,
                                                       const BFloat16* x, BFloat16* dx) {
  const bool relu = norm.relu;
  compute_pairs(n, runs, [=](std::int64_t i) {
    EvenOdd factor, along, shift;
    load(by.factor + i, factor);
    load(by.along + i, along);
    load(by.shift + i, shift);
    return [=, numbers = EvenOddNormalization(norm, i)](std::int64_t begin) {
      EvenOdd d, from;
      load(dy + begin, d);
      load(x + begin, from);
      if (relu) {
        EvenOdd y;
        numbers.normalize(from, y);
        keep_where_positive(y.even, d.even);
        keep_where_positive(y.odd, d.odd);
      }
      d.even = d.even * factor.even - (from.even - numbers.mean.even) * along.even - shift.even;
      d.odd = d.odd * factor.odd - (from.odd - numbers.mean.odd) * along.odd - shift.odd;
      store(d, dx + begin);
    };
  });
}

/// Computes the gradients of `runs` runs of n elements. Before a relu the gradient of an element whose normalized value
/// is not above 0 is computed as for dy = 0.
template <class T>
[[gnu::always_inline]] inline void input_grad_of(std::int64_t n, std::int64_t runs, const InputGradient& by,
                                                 const ChannelNormalization& norm, const T* __restrict dy,
                                                 const T* __restrict x, T* __restrict dx) {
  if constexpr (std::is_same_v<T, BFloat16>)
    if (n % kEvenOdd == 0) return input_grad_of_pairs(n, runs, by, norm, dy, x, dx);
  const auto gradient = [&](std::int64_t i, float dz, float at) {
    return T(dz * by.factor[i] - (at - norm.mean[i]) * by.along[i] - by.shift[i]);
  };
  for (std::int64_t at = 0; at < n * runs; at += n)
    if (norm.relu)
      for (std::int64_t i = 0; i < n; ++i) {
        const auto from = static_cast<float>(x[at + i]), d = static_cast<float>(dy[at + i]);
        dx[at + i] = gradient(i, normalized(norm, i, from) > 0.0F ? d : 0.0F, from);
      }
    else
      for (std::int64_t i = 0; i < n; ++i)
        dx[at + i] = gradient(i, static_cast<float>(dy[at + i]), static_cast<float>(x[at + i]));
}

// The loops for each float dtype. They are macros, because clang cannot compile a template for several vector widths.
#define TROUPE_NORM_GRAD_LOOPS(T)                                                                                     \
  TROUPE_SIMD_CLONES void add_products(std::int64_t n, std::int64_t runs, const T* __restrict dy,                     \
                                       const T* __restrict x, const float* __restrict mean, float* __restrict sums,   \
                                       float* __restrict products) {                                                  \
    add_products_of(n, runs, dy, x, mean, sums, products);                                                            \
  }                                                                                                                   \
  TROUPE_SIMD_CLONES void add_relu_products(std::int64_t n, std::int64_t runs, const T* __restrict dy,                \
                                            const T* __restrict x, const ChannelNormalization& by,                    \
                                            float* __restrict sums, float* __restrict products) {                     \
    add_relu_products_of(n, runs, dy, x, by, sums, products);                                                         \
  }                                                                                                                   \
  TROUPE_SIMD_CLONES void add_kept_products(                                                                          \
      std::int64_t n, std::int64_t runs, const T* __restrict dy, const T* __restrict x, const float* __restrict mean, \
      const T* __restrict y, T* __restrict dz, float* __restrict sums, float* __restrict products) {                  \
    add_kept_products_of(n, runs, dy, x, mean, y, dz, sums, products);                                                \
  }                                                                                                                   \
  TROUPE_SIMD_CLONES void input_grad(std::int64_t n, std::int64_t runs, const InputGradient& by,                      \
                                     const ChannelNormalization& norm, const T* __restrict dy, const T* __restrict x, \
                                     T* __restrict dx) {                                                              \
    input_grad_of(n, runs, by, norm, dy, x, dx);                                                                      \
  }
TROUPE_NORM_GRAD_LOOPS(float)
TROUPE_NORM_GRAD_LOOPS(Float16)
TROUPE_NORM_GRAD_LOOPS(BFloat16)
#undef TROUPE_NORM_GRAD_LOOPS

}  // namespace

std::unique_ptr<Kernel> make_batch_norm_grad_sums(const OpCall& call) {
  const auto channels = call.inputs[1].shape.back(0);
  return with_float_type(call.inputs[1].dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    return function_kernel([channels, numbers = RepeatedNormalization(call, channels), totals = ChannelSums(channels),
                            epsilon = float_attribute(call, "epsilon")](Inputs in, Outputs out) mutable {
      const bool again = in.size() == 6;
      const auto by =
          numbers.fill(floats(in[2]), floats(in[3]), again ? floats(in[4]) : nullptr, again ? floats(in[5]) : nullptr);
      auto* sums = mutable_floats(out[0]);
      totals.add_up(
          in[0].elements(),
          [&](auto n, auto runs, auto at, float* of_dy, float* of_products) {
            const auto *dy = elements<T>(in[0]) + at, *x = elements<T>(in[1]) + at;
            if (in.size() == 6)
              add_relu_products(n, runs, dy, x, by, of_dy, of_products);
            else if (in.size() == 5)
              add_kept_products(n, runs, dy, x, by.mean, elements<T>(in[4]) + at, elements<T>(out[1]) + at, of_dy,
                                of_products);
            else
              add_products(n, runs, dy, x, by.mean, of_dy, of_products);
          },
          [&](std::int64_t c, double of_dy, double of_products) {
            sums[c] = static_cast<float>(of_dy);
            sums[channels + c] = static_cast<float>(of_products) * inverse_deviation(floats(in[3])[c], epsilon);
          });
    });
  });
}

// dx = scale / deviation * (dy - mean(dy) - z * mean(dy * z)), where deviation = sqrt(variance + epsilon) and z = (x -
// mean) / deviation. The sums have those of dy and of dy * z for every channel, and the count the number of their
// terms. Without sums the moments are constants, and dx = scale / deviation * dy.
std::unique_ptr<Kernel> make_batch_norm_grad(const OpCall& call) {
  const auto channels = call.inputs[1].shape.back(0);
  return with_float_type(call.inputs[1].dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    return function_kernel([channels, numbers = RepeatedNormalization(call, channels), alongs = Repeated(channels),
                            shifts = Repeated(channels), epsilon = float_attribute(call, "epsilon"),
                            of_batch = call.attributes.flag("of_batch")](Inputs in, Outputs out) mutable {
      const auto *variance = floats(in[3]), *sums = of_batch ? floats(in[6]) : nullptr;
      const auto* shift_of_norm = numbers.relu() ? floats(in[of_batch ? 7 : 6]) : nullptr;
      const auto norm = numbers.fill(floats(in[2]), variance, floats(in[4]), shift_of_norm);
      const auto count = floats(in[5])[0];
      const auto* factor = norm.factor;
      const auto* shift = shifts.fill([&](auto c) { return sums != nullptr ? factor[c] * sums[c] / count : 0.0F; });
      const auto* along = alongs.fill([&](auto c) {
        const auto deviation = inverse_deviation(variance[c], epsilon);
        return sums != nullptr ? factor[c] * deviation * sums[channels + c] / count : 0.0F;
      });
      const auto compute = [&](std::int64_t n, std::int64_t runs, std::int64_t at) {
        input_grad(n, runs, {factor, along, shift}, norm, elements<T>(in[0]) + at, elements<T>(in[1]) + at,
                   elements<T>(out[0]) + at);
      };
      const auto width = channels * pixels_together(channels), whole = in[0].elements() / width * width;
      compute(width, whole / width, 0);
      compute(in[0].elements() - whole, 1, whole);
    });
  });
}

}  // namespace troupe::cpu
