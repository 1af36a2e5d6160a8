#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/device/divide.cuh"
#include "troupe/ops/cuda/device/elements.cuh"
#include "troupe/ops/cuda/kernels/kernels.hpp"

namespace troupe::cuda {

namespace {

/// Four numbers of 32 bits.
struct RandomBits {
  std::uint32_t words[4];
};

/// Philox4x32-10 of ops/core/random.hpp. The same key and counter give the same bits as on the host.
__device__ RandomBits philox(std::uint64_t key, RandomBits counter) {
  auto key0 = static_cast<std::uint32_t>(key), key1 = static_cast<std::uint32_t>(key >> 32U);
  auto& c = counter.words;
  for (int round = 0; round < 10; ++round) {
    const std::uint32_t high0 = __umulhi(0xD2511F53U, c[0]), low0 = 0xD2511F53U * c[0];
    const std::uint32_t high1 = __umulhi(0xCD9E8D57U, c[2]), low1 = 0xCD9E8D57U * c[2];
    counter = {{high1 ^ c[1] ^ key0, low1, high0 ^ c[3] ^ key1, low0}};
    key0 += 0x9E3779B9U;
    key1 += 0xBB67AE85U;
  }
  return counter;
}

constexpr std::int64_t kBlocks = 16;  // number of blocks of random bits, four numbers each, for 64 elements
constexpr double kNumbers = 0x1.0p24;
constexpr std::uint64_t kDropoutKey = 0x64726f706f757421;

/// Applies dropout to four elements of a row with one block of random bits, the four words that philox() returns. Word
/// w of block 16 i + b decides on element 64 i + 16 w + b: if the word's upper 24 bits are at least `threshold`, the
/// element is multiplied by `factor`, else it becomes 0.
template <class T>
struct DropBlock {
  std::uint64_t seed;
  std::uint32_t stream, threshold;
  float factor;
  std::int64_t width;
  Divisor blocks_of_row;
  const BatchInfo* info;
  const T* x;
  T* y;

  __device__ void operator()(std::int64_t i) const {
    const auto row = blocks_of_row.quotient(i), block = i - row * blocks_of_row.divisor();
    const auto bits =
        philox(seed, {{static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(info->first_row + row),
                       static_cast<std::uint32_t>(info->step), stream}});
    const auto first = block / kBlocks * (4 * kBlocks) + block % kBlocks;
    for (int w = 0; w < 4; ++w) {
      const auto column = first + w * kBlocks;
      if (column >= width) return;
      const auto at = row * width + column;
      store(y, at, (bits.words[w] >> 8U) >= threshold ? load(x, at) * factor : 0.0F);
    }
  }
};

}  // namespace

std::unique_ptr<Kernel> make_dropout(const OpCall& call) {
  const auto threshold = static_cast<std::uint32_t>(call.attributes.number("rate") * kNumbers);
  const auto factor = static_cast<float>(kNumbers / (kNumbers - threshold));
  // The seed is mixed with a constant, because initializers and shuffling use the seed itself.
  const auto seed = static_cast<std::uint64_t>(call.attributes.integer("seed")) ^ kDropoutKey;
  const auto stream = static_cast<std::uint32_t>(call.attributes.integer("stream"));
  const auto rows = call.inputs[0].shape[0], width = call.inputs[0].shape.row_elements();
  const auto blocks_of_row = divided_up(width, 4 * kBlocks) * kBlocks, blocks = rows * blocks_of_row;
  const Divisor divisor(blocks_of_row, blocks);
  return with_float_type(call.inputs[0].dtype, [&](auto element) {
    using T = decltype(element);
    return cuda_kernel(call, [=](const Launch& where, Inputs in, Outputs out) {
      for_each(where, blocks,
               DropBlock<T>{seed, stream, threshold, factor, width, divisor, batch_info_of(in[1]), data_of<T>(in[0]),
                            mutable_data_of<T>(out[0])});
    });
  });
}

}  // namespace troupe::cuda
