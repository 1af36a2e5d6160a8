#include "troupe/ops/data/safetensors.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <limits>
#include <new>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <system_error>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/regular_file.hpp"
#include "troupe/ops/data/file_numbers.hpp"

namespace troupe {

namespace {

using nlohmann::json;

constexpr const char* kPlace = "safetensors";
constexpr const char* kMetadata = "__metadata__";
/// The bytes at the beginning of a file: the size of the header, as a little-endian number.
constexpr std::uint64_t kSizeBytes = 8;
/// The library pads headers to this size, so that the arrays are aligned.
constexpr std::size_t kHeaderAlignment = 8;
/// The levels of JSON in a header. Deeper texts are refused before they take much memory.
constexpr int kMostLevels = 4;

/// The name of an element type in a header. A type that is written is the first one with its dtype.
struct SafetensorsType {
  const char* name;
  FileNumbers numbers;
};
constexpr SafetensorsType kSafetensorsTypes[] = {{"F32", file_numbers<float, float>()},
                                                 {"F16", file_numbers<Float16, Float16>()},
                                                 {"BF16", file_numbers<BFloat16, BFloat16>()},
                                                 {"I32", file_numbers<std::int32_t, std::int32_t>()},
                                                 {"I64", file_numbers<std::int64_t, std::int64_t>()},
                                                 {"U8", file_numbers<std::uint8_t, std::uint8_t>()},
                                                 {"F64", file_numbers<double, float>()},
                                                 {"I8", file_numbers<std::int8_t, std::int32_t>()},
                                                 {"I16", file_numbers<std::int16_t, std::int32_t>()},
                                                 {"U16", file_numbers<std::uint16_t, std::int32_t>()},
                                                 {"U32", file_numbers<std::uint32_t, std::int64_t>()},
                                                 {"U64", file_numbers<std::uint64_t, std::int64_t>()},
                                                 {"BOOL", file_numbers<std::uint8_t, std::uint8_t>()}};

/// A fault of a header, as text.
struct HeaderFault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

const SafetensorsType* type_named(const std::string& name) {
  const auto* found = std::ranges::find_if(kSafetensorsTypes, [&](const auto& type) { return type.name == name; });
  return found == std::end(kSafetensorsTypes) ? nullptr : found;
}

const char* name_in_file(DType dtype) {
  return std::ranges::find_if(kSafetensorsTypes, [&](const auto& type) { return type.numbers.dtype == dtype; })->name;
}

/// Reads `bytes` bytes from a position on. Returns false if the file ends before.
bool read_at(std::ifstream& file, std::uint64_t position, char* to, std::uint64_t bytes) {
  file.seekg(static_cast<std::streamoff>(position));
  return static_cast<bool>(file.read(to, static_cast<std::streamsize>(bytes)));
}

/// The JSON of a header. Throws json::exception if the text is no JSON, and HeaderFault if an object has a name twice
/// or the text has more levels than a header.
json parse_header(const std::string& text) {
  std::vector<std::set<std::string>> names;
  return json::parse(text, [&](int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start || event == json::parse_event_t::array_start) {
      names.emplace_back();
      if (names.size() > kMostLevels) throw HeaderFault("has too many levels");
    }
    if (event == json::parse_event_t::object_end || event == json::parse_event_t::array_end) names.pop_back();
    if (event == json::parse_event_t::key)
      if (const auto name = parsed.get<std::string>(); !names.back().insert(name).second)
        throw HeaderFault("has '" + name + "' twice");
    return true;
  });
}

std::uint64_t unsigned_number(const json& number) {
  if (!number.is_number_unsigned()) throw HeaderFault("has " + number.dump() + " in place of a size or an offset");
  return number.get<std::uint64_t>();
}

std::int64_t size_in(const json& number) {
  const auto size = unsigned_number(number);
  if (size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    throw HeaderFault("has " + number.dump() + " in place of a size");
  return static_cast<std::int64_t>(size);
}

}  // namespace

void SafetensorsFile::refuse(const std::string& what) const {
  throw Error(kPlace, "'" + path_.string() + "' " + what);
}

SafetensorsFile::SafetensorsFile(std::filesystem::path path) : path_(std::move(path)) {
  auto file = open_regular_file(kPlace, path_);
  std::error_code unreadable;
  const auto bytes = std::filesystem::file_size(path_, unreadable);
  if (unreadable) refuse("cannot be read: " + unreadable.message());
  std::array<unsigned char, kSizeBytes> size{};
  if (!read_at(file, 0, reinterpret_cast<char*>(size.data()), kSizeBytes)) refuse("is truncated: it has no header");
  std::uint64_t header_bytes = 0;
  for (std::size_t i = 0; i < kSizeBytes; ++i) header_bytes |= std::uint64_t{size[i]} << (8 * i);
  if (header_bytes > kMostHeaderBytes)
    refuse("is no safetensors file, or damaged: its header would have " + std::to_string(header_bytes) + " bytes");
  if (header_bytes > bytes - kSizeBytes) refuse("is truncated: it ends within its header");
  std::string text(header_bytes, ' ');
  if (!read_at(file, kSizeBytes, text.data(), header_bytes)) refuse("cannot be read");
  data_ = kSizeBytes + header_bytes;
  read_header(text, bytes - data_);
}

void SafetensorsFile::read_header(const std::string& text, std::uint64_t bytes_after) {
  std::string reason;
  try {
    const auto header = parse_header(text);
    if (!header.is_object()) throw HeaderFault("is no object");
    for (const auto& [name, value] : header.items()) {
      if (name == kMetadata) {
        metadata_ = value.get<std::map<std::string, std::string>>();
        continue;
      }
      const auto& offsets = value.at("data_offsets");
      if (!offsets.is_array() || offsets.size() != 2) throw HeaderFault("has no two offsets of '" + name + "'");
      std::vector<std::int64_t> sizes;
      if (!value.at("shape").is_array()) throw HeaderFault("has no shape of '" + name + "'");
      for (const auto& size : value.at("shape")) sizes.push_back(size_in(size));
      add_entry(name, value.at("dtype").get<std::string>(), sizes, unsigned_number(offsets[0]),
                unsigned_number(offsets[1]));
    }
  } catch (const std::bad_alloc&) {
    refuse("does not fit into memory");
  } catch (const std::exception& error) {
    reason = error.what();
  }
  if (!reason.empty()) refuse("has a damaged header: " + reason);
  expect_no_holes(bytes_after);
}

void SafetensorsFile::add_entry(const std::string& name, const std::string& type,
                                const std::vector<std::int64_t>& sizes, std::uint64_t begin, std::uint64_t end) {
  const auto* const known = type_named(type);
  if (known == nullptr) throw HeaderFault("'" + name + "' has elements of another type: '" + type + "'");
  const Shape shape(sizes);
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::uint64_t>(shape.elements()), known->numbers.bytes, &bytes) ||
      end < begin || end - begin != bytes)
    throw HeaderFault("'" + name + "' " + to_string(shape) + " of type " + type + " does not take the bytes from " +
                      std::to_string(begin) + " to " + std::to_string(end));
  entries_.push_back({name, type, shape, begin, bytes, known->numbers.dtype});
}

void SafetensorsFile::expect_no_holes(std::uint64_t bytes_after) {
  std::ranges::sort(entries_, {}, [](const Entry& entry) { return std::pair(entry.first_byte, entry.bytes); });
  std::uint64_t next = 0;
  for (const auto& entry : entries_) {
    if (entry.first_byte != next)
      refuse("is damaged: '" + entry.name + "' begins at byte " + std::to_string(entry.first_byte) + ", not " +
             std::to_string(next));
    index_[entry.name] = static_cast<std::size_t>(&entry - entries_.data());
    next += entry.bytes;
    if (next > bytes_after) refuse("is truncated: it ends within '" + entry.name + "'");
  }
  if (next != bytes_after)
    refuse("is damaged: it has " + std::to_string(bytes_after - next) + " bytes behind its last array");
}

Tensor SafetensorsFile::read(const Entry& entry) const {
  const auto refuse_array = [&](const std::string& what) { refuse("'" + entry.name + "' " + what); };
  try {
    auto file = open_regular_file(kPlace, path_);
    Tensor tensor(entry.shape, entry.dtype);
    const auto& numbers = type_named(entry.type)->numbers;
    std::vector<std::byte> in_file(numbers.converts ? entry.bytes : 0);
    auto* const to = numbers.converts ? in_file.data() : tensor.mutable_raw();
    if (!read_at(file, data_ + entry.first_byte, reinterpret_cast<char*>(to), entry.bytes))
      refuse_array("cannot be read");
    if (numbers.converts) numbers.convert(in_file, tensor, refuse_array);
    return tensor;
  } catch (const std::bad_alloc&) {
    refuse_array("does not fit into memory");
  } catch (const OutOfMemory&) {
    refuse_array("does not fit into memory");
  }
  return {};
}

Tensor SafetensorsFile::read(const std::string& name) const {
  if (const auto found = index_.find(name); found != index_.end()) return read(entries_[found->second]);
  constexpr std::size_t kMostNamed = 10;
  std::string names;
  for (std::size_t i = 0; i < std::min(kMostNamed, entries_.size()); ++i)
    names += (i == 0 ? "'" : ", '") + entries_[i].name + "'";
  if (entries_.size() > kMostNamed) names += " and " + std::to_string(entries_.size() - kMostNamed) + " others";
  refuse("has no array '" + name + "'; it has " + (names.empty() ? "none" : names));
}

NamedArrays read_safetensors(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  NamedArrays arrays;
  for (const auto& entry : file.entries()) arrays.emplace_back(entry.name, file.read(entry));
  return arrays;
}

SafetensorsImage::SafetensorsImage(const std::filesystem::path& path, NamedArrays arrays,
                                   const std::map<std::string, std::string>& metadata)
    : header_(kSizeBytes, '\0'), arrays_(std::move(arrays)) {
  const auto refuse = [&](const std::string& what) {
    throw Error(kPlace, "'" + path.string() + "' cannot be written: " + what);
  };
  for (auto& [name, array] : arrays_) {
    if (!array) refuse("'" + name + "' is an empty handle");
    array = array.copy_to_host();
  }
  // Larger elements come first, so that each array is aligned to its elements.
  std::ranges::stable_sort(arrays_, [](const auto& a, const auto& b) {
    return std::pair(size_of(b.second.dtype()), std::string_view(a.first)) <
           std::pair(size_of(a.second.dtype()), std::string_view(b.first));
  });
  json header = json::object();
  if (!metadata.empty()) header[kMetadata] = metadata;
  std::uint64_t next = 0;
  for (const auto& [name, array] : arrays_) {
    if (name == kMetadata) refuse("no array may have the name '" + name + "'");
    if (header.contains(name)) refuse("it has '" + name + "' twice");
    header[name] = {{"dtype", name_in_file(array.dtype())},
                    {"shape", array.shape().list()},
                    {"data_offsets", {next, next + array.bytes()}}};
    next += array.bytes();
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const json::exception&) {
    refuse("a name or a text is not in UTF-8");
  }
  if (text.size() + kHeaderAlignment > SafetensorsFile::kMostHeaderBytes)
    refuse("its " + std::to_string(arrays_.size()) + " arrays need a larger header than readers take");
  text.resize((text.size() + kHeaderAlignment - 1) / kHeaderAlignment * kHeaderAlignment, ' ');
  for (std::size_t i = 0; i < kSizeBytes; ++i) header_[i] = static_cast<char>(text.size() >> (8 * i));
  header_ += text;
}

std::vector<std::span<const std::byte>> SafetensorsImage::parts() const {
  std::vector<std::span<const std::byte>> parts{std::as_bytes(std::span(header_))};
  for (const auto& [name, array] : arrays_)
    if (array.bytes() > 0) parts.emplace_back(array.raw(), array.bytes());
  return parts;
}

void write_safetensors(const std::filesystem::path& path, const NamedArrays& arrays,
                       const std::map<std::string, std::string>& metadata) {
  const SafetensorsImage image(path, arrays, metadata);
  replace_file(kPlace, path, image.parts());
}

}  // namespace troupe
