#include "troupe/transport/bytes.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"

namespace troupe {

void ByteWriter::put_text(const std::string& text, std::size_t limit) {
  const auto length = std::min(text.size(), limit);
  put(static_cast<std::uint32_t>(length));
  put_bytes(std::as_bytes(std::span(text.data(), length)));
}

std::string ByteReader::get_text(std::size_t limit) {
  const auto length = get<std::uint32_t>();
  if (length > limit) throw Error(place_, "a text of " + std::to_string(length) + " bytes is too long");
  const auto bytes = next(length);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::span<const std::byte> ByteReader::get_bytes(std::uint64_t elements, std::size_t size) {
  if (elements > bytes_.size() / size)
    throw Error(place_, std::to_string(elements) + " elements are needed but " + std::to_string(bytes_.size()) +
                            " bytes are left");
  return next(static_cast<std::size_t>(elements) * size);
}

std::span<const std::byte> ByteReader::next(std::size_t count) {
  if (count > bytes_.size())
    throw Error(place_, std::to_string(count) + " bytes are needed but " + std::to_string(bytes_.size()) + " are left");
  const auto taken = bytes_.first(count);
  bytes_ = bytes_.subspan(count);
  return taken;
}

}  // namespace troupe
