#include "troupe/ops/data/npy_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "troupe/ops/data/gzip_file.hpp"

namespace troupe {

namespace {

/// Returns the part of the header, a Python dictionary in text form, from the value of `key` to the end. Throws Error
/// if the header has no such key.
std::string_view value_of(const GzipFile& file, std::string_view header, const std::string& key) {
  const auto at = header.find("'" + key + "':");
  if (at == std::string_view::npos) file.refuse("has no '" + key + "' in its header");
  auto value = header.substr(at + key.size() + 3);
  value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
  return value;
}

Shape shape_of(const GzipFile& file, std::string_view text) {
  const auto end = text.find(')');
  if (!text.starts_with('(') || end == std::string_view::npos) file.refuse("has a broken shape in its header");
  std::vector<std::int64_t> sizes;
  for (const auto *at = text.data() + 1, *last = text.data() + end; at < last;) {
    std::int64_t size = 0;
    const auto [rest, code] = std::from_chars(at, last, size);
    if (code != std::errc() || size < 0) file.refuse("has a broken shape in its header");
    sizes.push_back(size);
    at = std::find_if_not(rest, last, [](char c) { return c == ',' || c == ' '; });
  }
  if (sizes.size() > Shape::kMaxRank) file.refuse("has more than " + std::to_string(Shape::kMaxRank) + " axes");
  return Shape(sizes);
}

std::string read_header(GzipFile& file) {
  std::array<unsigned char, 8> start{};
  if (file.read(start.data(), start.size()) != start.size() || std::memcmp(start.data(), "\x93NUMPY", 6) != 0)
    file.refuse("is not an array of numpy");
  const std::size_t length_bytes = start[6] == 1 ? 2 : 4;
  if (start[6] < 1 || start[6] > 3) file.refuse("has the unknown version " + std::to_string(start[6]));
  std::array<unsigned char, 4> length{};
  if (file.read(length.data(), length_bytes) != length_bytes) file.refuse("is truncated: it ends within its header");
  const std::size_t size = length[0] | length[1] << 8 | length[2] << 16 | static_cast<std::size_t>(length[3]) << 24;
  constexpr std::size_t kMaxHeader = 1 << 16;
  if (size > kMaxHeader) file.refuse("has a header of " + std::to_string(size) + " bytes, above the limit");
  std::string header(size, ' ');
  if (file.read(header.data(), size) != size) file.refuse("is truncated: it ends within its header");
  return header;
}

/// An element type of an .npy file: its name in the header, the dtype of the tensor that read_npy() returns for it, and
/// the size of an element in the file.
struct ElementType {
  std::string_view name;
  DType dtype;
  std::size_t bytes;
};
constexpr ElementType kTypes[] = {{"'<f4'", DType::float32, 4}, {"'<f8'", DType::float32, 8},
                                  {"'<i4'", DType::int32, 4},   {"'<i8'", DType::int64, 8},
                                  {"'|u1'", DType::uint8, 1},   {"'|b1'", DType::uint8, 1}};

ElementType type_of(const GzipFile& file, std::string_view text) {
  for (const auto& type : kTypes)
    if (text.starts_with(type.name)) return type;
  file.refuse("has elements of another type: " + std::string(text.substr(0, text.find(','))));
}

}  // namespace

Tensor read_npy(const std::filesystem::path& path) {
  GzipFile file("npy", path);
  const auto header = read_header(file);
  const auto type = type_of(file, value_of(file, header, "descr"));
  if (!value_of(file, header, "fortran_order").starts_with("False")) file.refuse("is in Fortran order");
  const auto shape = shape_of(file, value_of(file, header, "shape"));
  const auto elements = file.read_all();
  const auto count = file.claimed_elements(shape);
  if (elements.size() / type.bytes != count || elements.size() % type.bytes != 0)
    file.refuse("holds " + std::to_string(elements.size()) + " bytes where " + to_string(shape) + " of " +
                std::to_string(type.bytes) + " bytes are claimed");
  Tensor tensor(shape, type.dtype);
  if (elements.empty()) return tensor;
  if (type.bytes == size_of(type.dtype)) {
    std::memcpy(tensor.mutable_raw(), elements.data(), elements.size());
    return tensor;
  }
  for (std::size_t i = 0; i < count; ++i) {
    double element = 0.0;
    std::memcpy(&element, elements.data() + i * sizeof(double), sizeof(double));
    tensor.mutable_data<float>()[i] = static_cast<float>(element);
  }
  return tensor;
}

}  // namespace troupe
