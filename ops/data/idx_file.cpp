#include "troupe/ops/data/idx_file.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/data/gzip_file.hpp"

namespace troupe {

namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;
constexpr unsigned char kUnsignedByte = 0x08;

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& what) {
  throw Error("idx", "'" + file.string() + "' " + what);
}

Shape read_header(GzipFile& in, const std::filesystem::path& file, std::size_t rank) {
  std::array<unsigned char, 4> word{};
  const auto next = [&] {
    if (in.read(word.data(), word.size()) != word.size()) refuse(file, "is truncated: it ends within its header");
    return (std::uint32_t{word[0]} << 24) | (std::uint32_t{word[1]} << 16) | (std::uint32_t{word[2]} << 8) | word[3];
  };
  const auto magic = next();
  const auto expected = (std::uint32_t{kUnsignedByte} << 8) | static_cast<std::uint32_t>(rank);
  if (magic != expected)
    refuse(file, "has the wrong magic number " + std::to_string(magic) + " where " + std::to_string(expected) +
                     " (unsigned bytes, " + std::to_string(rank) + " axes) is needed");
  std::vector<std::int64_t> sizes;
  for (std::size_t axis = 0; axis < rank; ++axis) sizes.push_back(next());
  return Shape(sizes);
}

std::int64_t claimed_bytes(const std::filesystem::path& file, const Shape& shape) {
  try {
    return shape.elements();
  } catch (const Error&) {
    refuse(file, "claims " + to_string(shape) + ", more than memory can hold");
  }
}

}  // namespace

Tensor read_idx(const std::filesystem::path& file, std::size_t rank) {
  GzipFile in("idx", file);
  const auto shape = read_header(in, file, rank);
  const auto claimed = static_cast<std::size_t>(claimed_bytes(file, shape));
  std::vector<unsigned char> bytes;
  while (bytes.size() < claimed) {
    const auto old_size = bytes.size();
    const auto chunk = std::min(kChunk, claimed - old_size);
    bytes.resize(old_size + chunk);
    const auto count = in.read(bytes.data() + old_size, chunk);
    bytes.resize(old_size + count);
    if (count < chunk)
      refuse(file, "is truncated: its header claims " + to_string(shape) + ", but only " +
                       std::to_string(bytes.size()) + " bytes follow");
  }
  unsigned char extra = 0;
  if (in.read(&extra, 1) != 0) refuse(file, "is longer than its header " + to_string(shape) + " says");
  return Tensor::from<std::uint8_t>(shape, std::span<const std::uint8_t>(bytes));
}

}  // namespace troupe
