#include "troupe/ops/data/idx_file.hpp"

#include <array>
#include <string>
#include <vector>

#include "troupe/ops/core/allocator.hpp"
#include "troupe/ops/data/decoded_files.hpp"
#include "troupe/ops/data/gunzip.hpp"
#include "troupe/ops/data/gzip_file.hpp"

namespace troupe {

namespace {

constexpr unsigned char kUnsignedByte = 0x08;

Shape read_header(GzipFile& file, std::size_t rank) {
  std::array<unsigned char, 4> word{};
  const auto next = [&] {
    if (file.read(word.data(), word.size()) != word.size()) file.refuse("is truncated: it ends within its header");
    return (std::uint32_t{word[0]} << 24) | (std::uint32_t{word[1]} << 16) | (std::uint32_t{word[2]} << 8) | word[3];
  };
  const auto magic = next();
  const auto expected = (std::uint32_t{kUnsignedByte} << 8) | static_cast<std::uint32_t>(rank);
  if (magic != expected)
    file.refuse("has the wrong magic number " + std::to_string(magic) + " where " + std::to_string(expected) +
                " (unsigned bytes, " + std::to_string(rank) + " axes) is needed");
  std::vector<std::int64_t> sizes;
  for (std::size_t axis = 0; axis < rank; ++axis) sizes.push_back(next());
  return Shape(sizes);
}

Tensor read_bytes(GzipFile& file, const std::filesystem::path& path, std::size_t rank) {
  const auto shape = read_header(file, rank);
  const auto claimed = file.claimed_elements(shape);
  const auto too_few = [&](std::size_t bytes) {
    file.refuse("is truncated: its header claims " + to_string(shape) + ", but only " + std::to_string(bytes) +
                " bytes follow");
  };
  if (claimed > file.most_bytes()) too_few(file.read_all(claimed).size());
  // gunzip() writes the header, too: it takes the last bytes before the elements, which stay aligned.
  constexpr std::size_t kAlignment = 64;
  const auto header = 4 * (1 + rank), before = (header + kAlignment - 1) / kAlignment * kAlignment;
  const auto memory = cpu_memory(before + claimed, Allocator::Contents::any);
  Tensor tensor(std::shared_ptr<std::byte>(memory, memory.get() + before), shape, DType::uint8);
  if (file.compressed() && gunzip(path, {memory.get() + before - header, header + claimed})) return tensor;
  const auto bytes = file.read(tensor.mutable_raw(), claimed);
  if (bytes < claimed) too_few(bytes);
  std::uint8_t more = 0;
  if (file.read(&more, 1) == 1) file.refuse("is longer than its header " + to_string(shape) + " says");
  return tensor;
}

}  // namespace

Tensor read_idx(const std::filesystem::path& path, std::size_t rank) {
  GzipFile file("idx", path);
  const auto decode = [&] { return file.within_memory([&] { return read_bytes(file, path, rank); }); };
  if (!file.compressed()) return decode();
  return DecodedFiles(decoded_files_folder()).get(path, "idx " + std::to_string(rank), decode);
}

}  // namespace troupe
