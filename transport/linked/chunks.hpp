#pragma once

#include <cstddef>
#include <vector>

#include "troupe/transport/collective_call.hpp"
#include "troupe/transport/link.hpp"

namespace troupe::linked {

/// Up to this size it is cheaper to send a whole tensor to all ranks, and to sum it there, than to wait twice.
inline constexpr std::size_t kSmallBytes = 4'096;

/// A part travels in chunks of this size, so that one can be summed while the next is on its way.
inline constexpr std::size_t kChunkBytes = std::size_t{4} << 20;
/// A result up to this size is copied before it is sent: copying takes less time than waiting until all ranks have
/// read the result.
inline constexpr std::size_t kStagedBytes = std::size_t{1} << 20;

/// The chunk that each rank has sent, by rank; null for this rank itself.
using Inputs = std::vector<const IncomingPayload*>;

/// The number of chunks of a part: at least one, which may be empty.
std::size_t chunks_of(std::int64_t elements, DType dtype);
/// The elements of chunk `number` of a part.
Slice chunk_of(std::int64_t elements, DType dtype, std::size_t number);

/// output[i] = ((r0[i] + r1[i]) + r2[i]) + ... over the chunks of all ranks. `input` is the chunk of rank `rank`. The
/// output may be `input`.
void sum(const Inputs& inputs, int rank, const Tensor& input, const Tensor& output);

/// Copies all elements.
void read(const IncomingPayload& from, const Tensor& to);
void copy(const Tensor& from, const Tensor& to);

}  // namespace troupe::linked
