#include "troupe/ops/core/batch_info.hpp"
#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/kernels.hpp"

namespace troupe::cpu {

namespace {

constexpr int kBlocks = 16;  // the number of Philox blocks computed at once, each of four words of 32 bits
constexpr double kNumbers = 0x1.0p24;
constexpr std::uint64_t kDropoutKey = 0x64726f706f757421;

/// The seed, which is the Philox key, and three of the four words of the Philox counter: the row in the whole batch,
/// the step, and the stream of the op. The fourth word is the number of the block.
struct RowKey {
  std::uint64_t seed;
  std::uint32_t row, step, stream;
};

/// Computes blocks first .. first + 15 of the random numbers of a row at once, by Philox4x32-10; see
/// ops/core/random.hpp. Word w of block first + b is at words[w][b].
[[gnu::always_inline]] inline void random_blocks(const RowKey& key, std::uint32_t first,
                                                 std::uint32_t (&words)[4][kBlocks]) {
  for (int b = 0; b < kBlocks; ++b) words[0][b] = first + static_cast<std::uint32_t>(b);
  for (int b = 0; b < kBlocks; ++b) words[1][b] = key.row;
  for (int b = 0; b < kBlocks; ++b) words[2][b] = key.step;
  for (int b = 0; b < kBlocks; ++b) words[3][b] = key.stream;
  auto key0 = static_cast<std::uint32_t>(key.seed), key1 = static_cast<std::uint32_t>(key.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int b = 0; b < kBlocks; ++b) {
      const auto product0 = std::uint64_t{0xD2511F53} * words[0][b];
      const auto product1 = std::uint64_t{0xCD9E8D57} * words[2][b];
      words[0][b] = static_cast<std::uint32_t>(product1 >> 32) ^ words[1][b] ^ key0;
      words[2][b] = static_cast<std::uint32_t>(product0 >> 32) ^ words[3][b] ^ key1;
      words[1][b] = static_cast<std::uint32_t>(product1);
      words[3][b] = static_cast<std::uint32_t>(product0);
    }
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
}

/// Computes dropout of a row. Word w of block 16 i + b decides on element 64 i + 16 w + b. If the upper 24 bits of the
/// word are at least `threshold`, which is rate * 2^24 rounded down, the element is multiplied by `factor`; else it
/// becomes 0.
TROUPE_SIMD_CLONES void drop_row(const RowKey& key, std::int64_t width, std::uint32_t threshold, float factor,
                                 const float* x, float* y) {
  std::uint32_t words[4][kBlocks];
  for (std::int64_t at = 0; at < width; at += 4 * kBlocks) {
    random_blocks(key, static_cast<std::uint32_t>(at / 4), words);
    for (int w = 0; w < 4; ++w) {
      const auto first = at + w * kBlocks;
      const auto count = width - first < kBlocks ? width - first : kBlocks;
      for (std::int64_t b = 0; b < count; ++b)
        y[first + b] = (words[w][b] >> 8) >= threshold ? x[first + b] * factor : 0.0F;
    }
  }
}

}  // namespace

std::unique_ptr<Kernel> make_dropout(const OpCall& call) {
  const auto rate = call.attributes.number("rate");
  const auto threshold = static_cast<std::uint32_t>(rate * kNumbers);
  // XOR with a constant changes the seed, so that dropout does not draw the random numbers of initializers and
  // shuffling, which use the seed unchanged.
  const auto seed = static_cast<std::uint64_t>(call.attributes.integer("seed")) ^ kDropoutKey;
  const auto stream = static_cast<std::uint32_t>(call.attributes.integer("stream"));
  return function_kernel([=, width = call.inputs[0].shape.row_elements(),
                          factor = static_cast<float>(kNumbers / (kNumbers - threshold))](Inputs in, Outputs out) {
    const auto part = BatchInfo::read(in[1]);
    for (std::int64_t row = 0; row < out[0].shape()[0]; ++row) {
      const RowKey key{seed, static_cast<std::uint32_t>(part.first_row + row), static_cast<std::uint32_t>(part.step),
                       stream};
      drop_row(key, width, threshold, factor, floats(in[0]) + row * width, mutable_floats(out[0]) + row * width);
    }
  });
}

}  // namespace troupe::cpu
