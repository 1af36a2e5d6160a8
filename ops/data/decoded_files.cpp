#include "troupe/ops/data/decoded_files.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <sstream>
#include <system_error>
#include <vector>

#include "troupe/ops/core/cache_folder.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/hash.hpp"
#include "troupe/ops/core/regular_file.hpp"

namespace troupe {

namespace {

/// The first line of a copy; another version of its form gets another number.
constexpr std::string_view kFirstLine = "troupe decoded file 1";
/// The bytes before the elements, a multiple of the size of a page of memory: lines of text, then zeros.
constexpr std::size_t kHeaderBytes = 8192;

/// The lines of a header that tell of which file a copy is; nothing if the file cannot be found.
std::optional<std::string> lines_of_source(const std::filesystem::path& file, std::string_view format) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) return std::nullopt;
  std::ostringstream lines;
  lines << file.string() << "\n"
        << format << "\n"
        << status.st_size << " bytes " << status.st_mtim.tv_sec << "." << status.st_mtim.tv_nsec << "\n";
  return std::move(lines).str();
}

std::string hash_of(const Tensor& elements) {
  Hash hash;
  hash.add_bytes(elements.raw(), elements.bytes());
  return hash.hex();
}

/// The lines of a header that tell what the elements are.
std::string lines_of_elements(const Tensor& elements) {
  std::ostringstream lines;
  lines << name_of(elements.dtype()) << " " << elements.shape().rank();
  for (const auto size : elements.shape().sizes()) lines << " " << size;
  lines << "\n" << hash_of(elements) << "\n";
  return std::move(lines).str();
}

/// A file that is mapped into memory, private to this process, as long as the object lives.
class Mapping {
 public:
  /// Maps the file, if it is a regular file of this user that others cannot write. The address is null else.
  explicit Mapping(const std::filesystem::path& path) {
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0) return;
    struct stat status {};
    const bool fits = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
                      (status.st_mode & (S_IWGRP | S_IWOTH)) == 0 && status.st_size > 0;
    if (fits) {
      bytes_ = static_cast<std::size_t>(status.st_size);
      auto* const address = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_POPULATE, descriptor, 0);
      if (address != MAP_FAILED) address_ = static_cast<std::byte*>(address);
    }
    (void)close(descriptor);
  }
  ~Mapping() {
    if (address_ != nullptr) (void)munmap(address_, bytes_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::byte* address() const { return address_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* address_ = nullptr;
  std::size_t bytes_ = 0;
};

/// The reason why a copy is left out.
struct Unusable {
  const char* reason;
};
constexpr Unusable kDamaged{"it is damaged"};

/// The shape that a line of a header gives: the number of axes, and their sizes.
Shape shape_in(std::istream& line, std::size_t most_elements) {
  constexpr std::size_t kMostAxes = 16;
  std::size_t rank = 0, elements = 1;
  if (!(line >> rank) || rank > kMostAxes) throw kDamaged;
  std::vector<std::int64_t> sizes(rank);
  for (auto& size : sizes) {
    if (!(line >> size) || size < 1 || static_cast<std::size_t>(size) > most_elements / elements) throw kDamaged;
    elements *= static_cast<std::size_t>(size);
  }
  return Shape(sizes);
}

/// The elements of a copy whose header has these lines of its source. Throws Unusable.
Tensor elements_of(const std::shared_ptr<Mapping>& copy, const std::string& source) {
  if (copy->address() == nullptr) throw Unusable{"it is no file of this user that others cannot write"};
  if (copy->bytes() < kHeaderBytes) throw kDamaged;
  const std::string header(reinterpret_cast<const char*>(copy->address()), kHeaderBytes);
  std::istringstream lines(header.substr(0, header.find('\0')));
  std::string line, of_source, dtype, hash;
  if (!std::getline(lines, line) || line != kFirstLine) throw kDamaged;
  for (int i = 0; i < 3 && std::getline(lines, line); ++i) of_source += line + "\n";
  if (of_source != source) throw Unusable{"the file has changed"};
  lines >> dtype;
  const auto type = dtype_named(dtype);
  if (!type) throw kDamaged;
  const auto bytes = copy->bytes() - kHeaderBytes;
  const auto shape = shape_in(lines, bytes / size_of(*type));
  if (!(lines >> hash) || static_cast<std::size_t>(shape.elements()) * size_of(*type) != bytes) throw kDamaged;
  Tensor elements(std::shared_ptr<std::byte>(copy, copy->address() + kHeaderBytes), shape, *type);
  if (hash_of(elements) != hash) throw kDamaged;
  return elements;
}

/// Writes a copy, or none if that is not possible.
void write_copy(const std::filesystem::path& path, const std::string& source, const Tensor& elements) {
  const auto lines = std::string(kFirstLine) + "\n" + source + lines_of_elements(elements);
  if (lines.size() >= kHeaderBytes) return;
  std::vector<std::byte> header(kHeaderBytes);
  std::memcpy(header.data(), lines.data(), lines.size());
  std::error_code error;
  const auto folder = path.parent_path();
  if (std::filesystem::create_directories(folder, error))
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  try {
    const std::span<const std::byte> parts[] = {header, {elements.raw(), elements.bytes()}};
    replace_file("data", path, parts);
  } catch (const Error&) {
    return;  // a copy saves time, and the elements are there
  }
}

}  // namespace

Tensor DecodedFiles::get(const std::filesystem::path& file, std::string_view format,
                         const std::function<Tensor()>& decode) const {
  std::error_code error;
  const auto absolute = std::filesystem::canonical(file, error);
  const auto source = error || folder_.empty() ? std::nullopt : lines_of_source(absolute, format);
  if (!source) return decode();
  const auto key = absolute.string() + "\n" + std::string(format);
  char name[17];
  std::snprintf(name, sizeof(name), "%016llx", static_cast<unsigned long long>(hash_of_text(key)));
  const auto path = folder_ / name;
  if (std::filesystem::exists(std::filesystem::symlink_status(path, error))) {
    try {
      return elements_of(std::make_shared<Mapping>(path), *source);
    } catch (const Unusable& copy) {
      std::fprintf(stderr, "[data] the decoded copy '%s' of '%s' is left out and made again: %s\n", path.c_str(),
                   file.c_str(), copy.reason);
    }
  }
  auto elements = decode();
  // A file that was changed meanwhile may have been read in part before and in part after.
  if (elements.bytes() >= kLeastBytes && lines_of_source(absolute, format) == source)
    write_copy(path, *source, elements);
  return elements;
}

std::filesystem::path decoded_files_folder() {
  const auto given = environment_variable("TROUPE_DATA_CACHE");
  if (given == "off") return {};
  if (!given.empty()) return given;
  const auto folder = cache_folder();
  return folder.empty() ? std::filesystem::path() : folder / "data";
}

}  // namespace troupe
