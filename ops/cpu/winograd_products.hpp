#pragma once

#include <cstdint>

#include "troupe/ops/cpu/winograd_tiles.hpp"

// The sums of Winograd's algorithm over channels or tiles, as one product of matrices for each of the 36 planes. Each
// term is added by a fused multiply-add, in order, so the bits do not depend on the width of the registers.

namespace troupe::cpu {

/// The registers that a product uses: of 512 or 256 bits, or those that std::fma() uses, which is slow on processors
/// without fused multiply-adds.
enum class ProductRegisters { bits512, bits256, of_fma };

/// Whether the processor has the registers and their fused multiply-adds.
bool has_registers(ProductRegisters registers);
/// The widest registers that the processor has.
ProductRegisters widest_registers();

/// The products compute sums in multiples of this number of rows.
inline constexpr std::int64_t kRowsOfProduct = 8;

/// sums [tiles, filters] = inputs [tiles, channels] * weights [channels, filters] in every plane. `tiles` is a multiple
/// of kRowsOfProduct, `filters` one of 16. The planes of weights follow each other.
void multiply_by_weights(std::int64_t tiles, std::int64_t channels, std::int64_t filters, const Planes& inputs,
                         const float* weights, const Planes& sums, ProductRegisters registers = widest_registers());

/// sums [channels, filters] = inputs [tiles, channels]^T * grads [tiles, filters] in every plane. `channels` and
/// `filters` are multiples of 16. The planes of sums follow each other.
void multiply_over_tiles(std::int64_t tiles, std::int64_t channels, std::int64_t filters, const Planes& inputs,
                         const Planes& grads, float* sums, ProductRegisters registers = widest_registers());

}  // namespace troupe::cpu
