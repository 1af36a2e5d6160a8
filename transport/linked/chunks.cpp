#include "troupe/transport/linked/chunks.hpp"

#include <algorithm>
#include <cstring>

#include "troupe/transport/rank_sum.hpp"

namespace troupe::linked {

namespace {

// Chunks are summed piece by piece: a piece of all inputs, then the next piece. A piece of the sum stays in a core's
// cache while the inputs are added to it, together with the piece of the input that is being added.
constexpr std::size_t kPieceBytes = std::size_t{128} << 10;

std::int64_t elements_per_chunk(DType dtype) {
  return static_cast<std::int64_t>(kChunkBytes / size_of(dtype));
}

/// Returns memory of the calling thread for one piece: number 0 is for the sum, number 1 for an input that cannot be
/// read in place.
std::byte* piece_memory(std::size_t which) {
  struct alignas(64) Piece {
    std::byte bytes[kPieceBytes];
  };
  thread_local const auto pieces = std::make_unique<Piece[]>(2);
  return pieces[which].bytes;
}

/// Returns the bytes of the payload if they are in memory of this process and aligned for the dtype, else null.
const std::byte* aligned_local(const IncomingPayload& payload, DType dtype) {
  const auto* local = payload.local();
  return reinterpret_cast<std::uintptr_t>(local) % size_of(dtype) == 0 ? local : nullptr;
}

}  // namespace

std::size_t chunks_of(std::int64_t elements, DType dtype) {
  const auto per_chunk = elements_per_chunk(dtype);
  return static_cast<std::size_t>(std::max<std::int64_t>(1, (elements + per_chunk - 1) / per_chunk));
}

Slice chunk_of(std::int64_t elements, DType dtype, std::size_t number) {
  const auto per_chunk = elements_per_chunk(dtype);
  const auto first = per_chunk * static_cast<std::int64_t>(number);
  return {first, std::min(per_chunk, elements - first)};
}

void sum(const Inputs& inputs, int rank, const Tensor& input, const Tensor& output) {
  const auto dtype = input.dtype();
  auto* const sums = piece_memory(0);
  for (std::size_t offset = 0; offset < input.bytes(); offset += kPieceBytes) {
    const auto bytes = std::min(kPieceBytes, input.bytes() - offset);
    const auto count = static_cast<std::int64_t>(bytes / size_of(dtype));
    for (int from = 0; from < static_cast<int>(inputs.size()); ++from) {
      const auto* local = from == rank ? input.raw() : aligned_local(*inputs[from], dtype);
      const auto* piece = local != nullptr ? local + offset : piece_memory(1);
      if (local == nullptr) inputs[from]->read(offset, {piece_memory(from == 0 ? 0 : 1), bytes});
      if (local != nullptr || from > 0) copy_or_add(dtype, count, piece, sums, from > 0);
    }
    std::memcpy(output.mutable_raw() + offset, sums, bytes);
  }
}

void read(const IncomingPayload& from, const Tensor& to) {
  from.read(0, {to.bytes() > 0 ? to.mutable_raw() : nullptr, to.bytes()});
}

void copy(const Tensor& from, const Tensor& to) {
  if (from.bytes() > 0) std::memcpy(to.mutable_raw(), from.raw(), from.bytes());
}

}  // namespace troupe::linked
