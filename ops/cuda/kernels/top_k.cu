#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/kernels/axis.cuh"
#include "troupe/ops/cuda/kernels/kernels.hpp"
#include "troupe/ops/cuda/kernels/rows.cuh"
#include "troupe/ops/cuda/kernels/sort.hpp"

namespace troupe::cuda {

namespace {

/// Returns an integer for a float, so that integers are ordered like their floats. Both zeros give the same integer,
/// and NaNs come after all other floats.
__device__ std::uint32_t order_of(float x) {
  constexpr std::uint32_t kSign = 0x80000000U;
  // The result for a NaN is below the largest integer, so that no candidate() has all bits set.
  if (x != x) return 0xfffffffeU;
  const auto bits = __float_as_uint(x + 0.0F);
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

/// Returns a number x and its place as one integer, a candidate for the largest: it is larger for a larger x, and for
/// equal x larger at an earlier place.
__device__ unsigned long long candidate(float x, std::int64_t place) {
  return static_cast<unsigned long long>(order_of(x)) << 32U | (0xffffffffU - static_cast<std::uint32_t>(place));
}
__device__ std::int32_t place_of(unsigned long long candidate) {
  return static_cast<std::int32_t>(0xffffffffU - static_cast<std::uint32_t>(candidate));
}

// No candidate is 0, which stands for no candidate, or ~0, which is above all candidates.
constexpr unsigned long long kNoCandidate = 0;

/// Finds the place of the first largest number in a line along the axis.
struct ArgmaxLine {
  AxisLines lines;
  const float* x;
  std::int32_t* place;

  template <class Threads>
  __device__ void operator()(Threads threads, std::int64_t line) const {
    const auto* first = x + lines.first(line);
    auto best = kNoCandidate;
    for (std::int64_t i = threads.lane(); i < lines.size; i += Threads::kCount)
      best = Largest()(best, candidate(first[i * lines.inner.divisor()], i));
    best = threads.reduce(best, Largest(), kNoCandidate);
    if (threads.lane() == 0) place[line] = place_of(best);
  }
};

/// Picks the k largest numbers of a row, one after the other: each is the largest candidate below the one before it.
struct PickRow {
  std::int64_t size, k;
  const float* x;
  float* values;
  std::int32_t* indices;

  template <class Threads>
  __device__ void operator()(Threads threads, std::int64_t row) const {
    const auto* of_row = x + row * size;
    auto before = ~kNoCandidate;
    for (std::int64_t picked = 0; picked < k; ++picked) {
      auto best = kNoCandidate;
      for (std::int64_t i = threads.lane(); i < size; i += Threads::kCount) {
        const auto here = candidate(of_row[i], i);
        if (here < before) best = Largest()(best, here);
      }
      before = threads.reduce(best, Largest(), kNoCandidate);
      if (threads.lane() != 0) continue;
      indices[row * k + picked] = place_of(before);
      values[row * k + picked] = of_row[place_of(before)];
    }
  }
};

/// Makes the pair of an element for sorting: a key that is smaller for a larger number, and the place of the element.
struct MakeKeyPair {
  const float* x;
  std::uint32_t* keys;
  std::int32_t* places;
  __device__ void operator()(std::int64_t i) const {
    keys[i] = ~order_of(x[i]);
    places[i] = static_cast<std::int32_t>(i);
  }
};
/// Stores the place and the number of one of the k largest elements, which come first after sorting.
struct TakeFirst {
  const float* x;
  const std::int32_t* places;
  float* values;
  std::int32_t* indices;
  __device__ void operator()(std::int64_t i) const {
    indices[i] = places[i];
    values[i] = x[places[i]];
  }
};

/// Computes the gradient of x in a row: dy at the k places, zero elsewhere. A place that is not in the row is ignored.
struct TopKGradRow {
  std::int64_t size, k;
  const float* dy;
  const std::int32_t* places;
  float* dx;

  template <class Threads>
  __device__ void operator()(Threads threads, std::int64_t row) const {
    auto* of_row = dx + row * size;
    for (std::int64_t i = threads.lane(); i < size; i += Threads::kCount) of_row[i] = 0.0F;
    threads.meet();
    for (std::int64_t i = threads.lane(); i < k; i += Threads::kCount) {
      const auto place = places[row * k + i];
      if (place >= 0 && place < size) of_row[place] = dy[row * k + i];
    }
  }
};

std::unique_ptr<Kernel> make_sorted_top_k(const OpCall& call) {
  const auto size = call.inputs[0].shape.back(0), k = call.attributes.integer("k");
  const auto rows = call.inputs[0].shape.elements() / size;
  const PairSort sort(size, 32);
  return cuda_kernel(
      call,
      [=](const Launch& where, Inputs in, Outputs out) {
        for (std::int64_t row = 0; row < rows; ++row) {
          const auto* x = floats(in[0]) + row * size;
          for_each(where, size, MakeKeyPair{x, sort.keys(where.scratch), sort.places(where.scratch)});
          sort.run(where, where.scratch);
          for_each(where, k,
                   TakeFirst{x, sort.sorted_places(where.scratch), mutable_floats(out[0]) + row * k,
                             mutable_data_of<std::int32_t>(out[1]) + row * k});
        }
      },
      sort.scratch_bytes());
}

}  // namespace

std::unique_ptr<Kernel> make_argmax(const OpCall& call) {
  const AxisLines lines(call.inputs[0].shape, call.attributes.integer("axis"));
  return cuda_kernel(call, [lines](const Launch& where, Inputs in, Outputs out) {
    for_each_row(where, lines.lines(), lines.size,
                 ArgmaxLine{lines, floats(in[0]), mutable_data_of<std::int32_t>(out[0])});
  });
}

std::unique_ptr<Kernel> make_top_k(const OpCall& call) {
  // With more than kFew numbers to pick and fewer than kManyRows rows, sorting a row is faster than searching it k
  // times.
  constexpr std::int64_t kFew = 64, kManyRows = 64;
  const auto size = call.inputs[0].shape.back(0), k = call.attributes.integer("k");
  if (k > kFew && call.inputs[0].shape.elements() / size < kManyRows) return make_sorted_top_k(call);
  return cuda_kernel(call, [size, k](const Launch& where, Inputs in, Outputs out) {
    for_each_row(where, in[0].elements() / size, size,
                 PickRow{size, k, floats(in[0]), mutable_floats(out[0]), mutable_data_of<std::int32_t>(out[1])});
  });
}

std::unique_ptr<Kernel> make_top_k_grad(const OpCall& call) {
  return cuda_kernel(call, [size = call.attributes.integer("size"), k = call.inputs[0].shape.back(0)](
                               const Launch& where, Inputs in, Outputs out) {
    for_each_row(where, out[0].elements() / size, size,
                 TopKGradRow{size, k, floats(in[0]), data_of<std::int32_t>(in[1]), mutable_floats(out[0])});
  });
}

}  // namespace troupe::cuda
