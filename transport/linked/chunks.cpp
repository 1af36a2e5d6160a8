#include "troupe/transport/linked/chunks.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"

namespace troupe::linked {

namespace {

std::int64_t most_elements(DType dtype) {
  return static_cast<std::int64_t>(kChunkBytes / size_of(dtype));
}

}  // namespace

std::size_t chunks_of(std::int64_t elements, DType dtype) {
  const auto most = most_elements(dtype);
  return static_cast<std::size_t>(std::max<std::int64_t>(1, (elements + most - 1) / most));
}

Slice chunk_of(std::int64_t elements, DType dtype, std::size_t number) {
  const auto most = most_elements(dtype);
  const auto first = most * static_cast<std::int64_t>(number);
  return {first, std::min(most, elements - first)};
}

void expect_chunk(const IncomingFrame& frame, int from, std::int64_t count, DType dtype) {
  const auto wanted = static_cast<std::size_t>(count) * size_of(dtype);
  if (frame.payload->bytes() != wanted)
    throw Error("communicator", "rank " + std::to_string(from) + " sent a part of " +
                                    std::to_string(frame.payload->bytes()) + " bytes where " + std::to_string(wanted) +
                                    " were expected");
}

}  // namespace troupe::linked
