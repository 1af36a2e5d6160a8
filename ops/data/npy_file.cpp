#include "troupe/ops/data/npy_file.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "troupe/ops/data/file_numbers.hpp"
#include "troupe/ops/data/gzip_file.hpp"
#include "troupe/ops/data/npy_header.hpp"

namespace troupe {

namespace {

std::string read_header(GzipFile& file) {
  std::array<unsigned char, 8> start{};
  if (file.read(start.data(), start.size()) != start.size() || std::memcmp(start.data(), "\x93NUMPY", 6) != 0)
    file.refuse("is not an array of numpy");
  const std::size_t length_bytes = start[6] == 1 ? 2 : 4;
  if (start[6] < 1 || start[6] > 3 || start[7] != 0)
    file.refuse("has the unknown version " + std::to_string(start[6]) + "." + std::to_string(start[7]));
  std::array<unsigned char, 4> length{};
  if (file.read(length.data(), length_bytes) != length_bytes) file.refuse("is truncated: it ends within its header");
  const std::size_t size = length[0] | length[1] << 8 | length[2] << 16 | static_cast<std::size_t>(length[3]) << 24;
  constexpr std::size_t kMaxHeader = 1 << 16;
  if (size > kMaxHeader) file.refuse("has a header of " + std::to_string(size) + " bytes, above the limit");
  std::string header(size, ' ');
  if (file.read(header.data(), size) != size) file.refuse("is truncated: it ends within its header");
  return header;
}

/// The name of an element type in the header of an .npy file, without the order of the bytes.
struct NpyElementType {
  std::string_view name;
  FileNumbers numbers;
};
constexpr NpyElementType kNpyTypes[] = {{"f2", file_numbers<Float16, float>()},
                                        {"f4", file_numbers<float, float>()},
                                        {"f8", file_numbers<double, float>()},
                                        {"i1", file_numbers<std::int8_t, std::int32_t>()},
                                        {"i2", file_numbers<std::int16_t, std::int32_t>()},
                                        {"i4", file_numbers<std::int32_t, std::int32_t>()},
                                        {"i8", file_numbers<std::int64_t, std::int64_t>()},
                                        {"u1", file_numbers<std::uint8_t, std::uint8_t>()},
                                        {"u2", file_numbers<std::uint16_t, std::int32_t>()},
                                        {"u4", file_numbers<std::uint32_t, std::int64_t>()},
                                        {"u8", file_numbers<std::uint64_t, std::int64_t>()},
                                        {"b1", file_numbers<std::uint8_t, std::uint8_t>()}};

/// The element type that a header calls `name`, such as "<f4" or "|u1".
FileNumbers type_of(const GzipFile& file, const std::string& name) {
  for (const auto& type : kNpyTypes) {
    const std::string_view orders = type.numbers.bytes == 1 ? "|<>" : "<>";
    if (name.size() == 3 && name.substr(1) == type.name && orders.find(name[0]) != orders.npos) return type.numbers;
  }
  file.refuse("has elements of another type: '" + name + "'");
}

void reverse_bytes(std::string& elements, std::size_t element_bytes) {
  for (auto at = elements.begin(); at != elements.end(); at += static_cast<std::ptrdiff_t>(element_bytes))
    std::reverse(at, at + static_cast<std::ptrdiff_t>(element_bytes));
}

/// The elements of an array in Fortran order, in which the first index changes fastest, in C order.
std::string in_c_order(const std::string& elements, const Shape& shape, std::size_t element_bytes) {
  std::string ordered(elements.size(), '\0');
  std::vector<std::int64_t> index(shape.rank(), 0);
  for (std::size_t from = 0; from < elements.size(); from += element_bytes) {
    std::int64_t to = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis) to = to * shape[axis] + index[axis];
    std::memcpy(ordered.data() + static_cast<std::size_t>(to) * element_bytes, elements.data() + from, element_bytes);
    for (std::size_t axis = 0; axis < index.size() && ++index[axis] == shape[axis]; ++axis) index[axis] = 0;
  }
  return ordered;
}

Tensor read_array(GzipFile& file) {
  const auto header = parse_npy_header(file, read_header(file));
  const auto type = type_of(file, header.type);
  const auto count = file.claimed_elements(header.shape);
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, type.bytes, &bytes) || bytes + 1 == 0)
    file.refuse("claims " + to_string(header.shape) + ", more than memory can hold");
  auto elements = file.read_all(bytes + 1);
  if (elements.size() != bytes)
    file.refuse("holds " + std::string(elements.size() > bytes ? "more than " : "") +
                std::to_string(std::min(elements.size(), bytes)) + " bytes where " + to_string(header.shape) + " of " +
                std::to_string(type.bytes) + " bytes are claimed");
  if (header.type[0] == '>') reverse_bytes(elements, type.bytes);
  if (header.fortran_order) elements = in_c_order(elements, header.shape, type.bytes);
  Tensor tensor(header.shape, type.dtype);
  type.convert(std::as_bytes(std::span(elements)), tensor, [&](const std::string& what) { file.refuse(what); });
  return tensor;
}

}  // namespace

Tensor read_npy(const std::filesystem::path& path) {
  GzipFile file("npy", path);
  return file.within_memory([&] { return read_array(file); });
}

}  // namespace troupe
