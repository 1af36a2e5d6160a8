#include <algorithm>
#include <bit>

#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/device/divide.cuh"
#include "troupe/ops/cuda/device/lanes.cuh"
#include "troupe/ops/cuda/kernels/kernels.hpp"
#include "troupe/ops/cuda/kernels/rows.cuh"
#include "troupe/ops/cuda/kernels/sort.hpp"

namespace troupe::cuda {

namespace {

/// Indices, int32 in `narrow` or int64 in `wide`; the other pointer is null. A valid index is in [0, bound).
struct Indices {
  InvalidReport invalid;
  const std::int32_t* narrow;
  const std::int64_t* wide;
  std::int64_t bound;

  Indices(const Launch& where, const Tensor& indices, std::int64_t rows)
      : invalid(where.invalid.of_elements(indices)),
        narrow(indices.dtype() == DType::int32 ? data_of<std::int32_t>(indices) : nullptr),
        wide(indices.dtype() == DType::int32 ? nullptr : data_of<std::int64_t>(indices)),
        bound(rows) {}

  /// Returns index number i, or -1 if it is out of range. If `reporting` is true, reports an index out of range.
  __device__ std::int64_t at(std::int64_t i, bool reporting) const {
    const std::int64_t index = narrow != nullptr ? narrow[i] : wide[i];
    if (index >= 0 && index < bound) return index;
    if (reporting) invalid(InvalidValue::Kind::index, i, index, bound);
    return -1;
  }
};

/// Computes kLanes neighboring elements of a row of the result: copies them, converted, from the row of the table that
/// the index of the row names. They are zeros if the index is out of range.
template <class From, class To, int kLanes, class Convert>
struct GatherLanes {
  Indices indices;
  Divisor lanes_of_row;
  Convert convert;
  const Lanes<From, kLanes>* table;
  Lanes<To, kLanes>* y;

  __device__ void operator()(std::int64_t i) const {
    const auto place = lanes_of_row.quotient(i), lane = i - place * lanes_of_row.divisor();
    const auto row = indices.at(place, lane == 0);
    Lanes<To, kLanes> result{};
    if (row >= 0) {
      const auto elements = table[row * lanes_of_row.divisor() + lane];
      for (int k = 0; k < kLanes; ++k) result.elements[k] = static_cast<To>(convert(elements.elements[k]));
    }
    y[i] = result;
  }
};

/// Gathers rows of a table [rows, width] to y: row i of y is row indices[i] of the table, with every element converted,
/// or zeros if the index is out of range.
template <class From, class To, class Convert>
class GatherRows {
 public:
  GatherRows(std::int64_t rows, std::int64_t width, std::int64_t count, Convert convert)
      : rows_(rows),
        elements_(count * width),
        by_lanes_(std::max<std::int64_t>(1, width / kLanes), elements_),
        by_one_(std::max<std::int64_t>(1, width), elements_),
        divides_(width % kLanes == 0),
        convert_(convert) {}

  void operator()(const Launch& where, const Tensor& table, const Tensor& indices, const Tensor& y) const {
    const auto* from = data_of<From>(table);
    auto* to = mutable_data_of<To>(y);
    const Indices numbers(where, indices, rows_);
    if (divides_ && begins_with_lanes<kLanes>(from) && begins_with_lanes<kLanes>(to))
      run<kLanes>(where, numbers, by_lanes_, from, to);
    else
      run<1>(where, numbers, by_one_, from, to);
  }

 private:
  static constexpr int kLanes = 4;

  template <int kCount>
  void run(const Launch& where, const Indices& indices, const Divisor& of_row, const From* from, To* to) const {
    for_each(where, elements_ / kCount,
             GatherLanes<From, To, kCount, Convert>{indices, of_row, convert_, lanes_of<From, kCount>(from),
                                                    lanes_of<To, kCount>(to)});
  }

  std::int64_t rows_, elements_;
  Divisor by_lanes_, by_one_;
  bool divides_;
  Convert convert_;
};

/// The conversion of elements that are only copied.
struct Unchanged {
  template <class T>
  __device__ T operator()(T x) const {
    return x;
  }
};

/// The conversion of a stored number to float32: x * scale + shift.
struct Scaled {
  float scale, shift;
  template <class T>
  __device__ float operator()(T x) const {
    return static_cast<float>(x) * scale + shift;
  }
};

/// Makes a kernel that runs GatherRows. The first input of the op is the table, the second has the indices.
template <class From, class To, class Convert>
std::unique_ptr<Kernel> gather_kernel(const OpCall& call, Convert convert) {
  const auto& table = call.inputs[0].shape;
  const GatherRows<From, To, Convert> gather(table[0], table.row_elements(), call.inputs[1].shape.elements(), convert);
  return cuda_kernel(call,
                     [gather](const Launch& where, Inputs in, Outputs out) { gather(where, in[0], in[1], out[0]); });
}

/// Writes row i of y: zeros, and a 1 at the position of index number i. An index out of range gives a row of zeros.
struct OneHotRow {
  Indices indices;
  float* y;

  template <class Threads>
  __device__ void operator()(Threads threads, std::int64_t i) const {
    const auto index = indices.at(i, threads.lane() == 0);
    for (std::int64_t j = threads.lane(); j < indices.bound; j += Threads::kCount)
      y[i * indices.bound + j] = j == index ? 1.0F : 0.0F;
  }
};

/// Makes a pair of an index, the key, and its position, the place, to be sorted by index. An index out of range becomes
/// the bound, which sorts after all valid indices.
struct MakeIndexPair {
  Indices indices;
  std::uint32_t* keys;
  std::int32_t* places;
  __device__ void operator()(std::int64_t i) const {
    const auto index = indices.at(i, true);
    keys[i] = static_cast<std::uint32_t>(index >= 0 ? index : indices.bound);
    places[i] = static_cast<std::int32_t>(i);
  }
};

/// Computes row `row` of y from the sorted pairs: the sum of the rows of x whose index is `row`, in the order of x.
/// Each block of kBlockSum rows is added up alone, because a single float sum of equal terms stops growing at 2^24
/// terms.
struct ScatterRow {
  static constexpr std::int64_t kBlockSum = std::int64_t{1} << 16;
  std::int64_t count, width;
  const std::uint32_t* keys;
  const std::int32_t* places;
  const float* x;
  float* y;

  /// Returns the number of the first sorted pair whose key is at least `key`.
  __device__ std::int64_t first_of(std::int64_t key) const {
    std::int64_t begin = 0, end = count;
    while (begin < end) {
      const auto middle = (begin + end) / 2;
      if (keys[middle] < key)
        begin = middle + 1;
      else
        end = middle;
    }
    return begin;
  }

  template <class Threads>
  __device__ void operator()(Threads threads, std::int64_t row) const {
    const auto begin = first_of(row);
    auto end = begin;
    while (end < count && keys[end] == row && end < begin + 4) ++end;
    if (end == begin + 4) end = first_of(row + 1);
    for (std::int64_t j = threads.lane(); j < width; j += Threads::kCount) {
      float sum = 0.0F;
      for (auto first = begin; first < end; first += kBlockSum) {
        float of_block = 0.0F;
        for (auto i = first; i < end && i < first + kBlockSum; ++i) of_block += x[places[i] * width + j];
        sum += of_block;
      }
      y[row * width + j] = sum;
    }
  }
};

}  // namespace

std::unique_ptr<Kernel> make_gather(const OpCall& call) {
  return gather_kernel<float, float>(call, Unchanged());
}

std::unique_ptr<Kernel> make_load_rows(const OpCall& call) {
  const auto dtype = call.inputs[0].dtype;
  if (call.attributes.has("scale")) {
    const Scaled scaled{option(call, "scale"), option(call, "shift")};
    return dtype == DType::uint8 ? gather_kernel<std::uint8_t, float>(call, scaled)
                                 : gather_kernel<float, float>(call, scaled);
  }
  return with_bits_type(dtype, [&](auto element) {
    using T = decltype(element);
    return gather_kernel<T, T>(call, Unchanged());
  });
}

std::unique_ptr<Kernel> make_one_hot(const OpCall& call) {
  return cuda_kernel(call, [classes = call.attributes.integer("classes")](const Launch& where, Inputs in, Outputs out) {
    for_each_row(where, in[0].elements(), classes, OneHotRow{{where, in[0], classes}, mutable_floats(out[0])});
  });
}

std::unique_ptr<Kernel> make_scatter_add(const OpCall& call) {
  const auto rows = call.outputs[0].shape[0], width = call.outputs[0].shape.row_elements();
  const auto count = call.inputs[1].shape.elements();
  constexpr std::int64_t kLimit = std::int64_t{1} << 31;
  if (rows >= kLimit || count >= kLimit) throw Error("scatter_add", "there are 2^31 rows or indices, or more");
  const PairSort sort(count, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows))));
  return cuda_kernel(
      call,
      [=](const Launch& where, Inputs in, Outputs out) {
        for_each(where, count,
                 MakeIndexPair{{where, in[1], rows}, sort.keys(where.scratch), sort.places(where.scratch)});
        sort.run(where, where.scratch);
        for_each_row(where, rows, width,
                     ScatterRow{count, width, sort.sorted_keys(where.scratch), sort.sorted_places(where.scratch),
                                floats(in[0]), mutable_floats(out[0])});
      },
      sort.scratch_bytes());
}

}  // namespace troupe::cuda
