#pragma once

#include <cstddef>
#include <vector>

#include "troupe/transport/collective_call.hpp"
#include "troupe/transport/link.hpp"

namespace troupe::linked {

/// An all_reduce of at most kSmallBytes sends the whole tensor of each rank to all ranks, which all compute the sum.
/// This takes less time than the two rounds of a larger tensor, in which each rank first sums one slice and then sends
/// the sum to all ranks.
inline constexpr std::size_t kSmallBytes = 4'096;

/// The size of a chunk in bytes; the last chunk of a tensor may be smaller. A tensor that one rank sends to another is
/// cut into chunks, so that one chunk is summed while the next is on its way.
inline constexpr std::size_t kChunkBytes = std::size_t{4} << 20;
/// A chunk of a result is copied before it is sent if it has at most kStagedBytes: copying takes less time than waiting
/// until all ranks have read the chunk.
inline constexpr std::size_t kStagedBytes = std::size_t{1} << 20;

/// The payloads with one chunk of every rank, by rank; null for this rank itself and for ranks that do not send this
/// chunk.
using Inputs = std::vector<const IncomingPayload*>;

/// Returns the number of chunks of a tensor of `elements` elements: at least one, which may be empty.
std::size_t chunks_of(std::int64_t elements, DType dtype);
/// Returns the range of chunk `number` in a tensor of `elements` elements.
Slice chunk_of(std::int64_t elements, DType dtype, std::size_t number);

/// Computes output[i] = ((r0[i] + r1[i]) + r2[i]) + ... over the chunks r0, r1, r2, ... of all ranks. `input` is the
/// chunk of rank `rank`; `inputs` has the chunks of all other ranks. The output may be `input`.
void sum(const Inputs& inputs, int rank, const Tensor& input, const Tensor& output);

/// Both functions copy all elements of `from` to `to`, which must have the same number of bytes.
void read(const IncomingPayload& from, const Tensor& to);
void copy(const Tensor& from, const Tensor& to);

}  // namespace troupe::linked
