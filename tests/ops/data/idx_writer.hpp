#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace troupe::ops_test {

using Bytes = std::vector<std::uint8_t>;

/// A directory that is deleted with the object.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// The header of an IDX file of unsigned bytes, and `elements` after it.
Bytes idx_bytes(const std::vector<std::uint32_t>& sizes, const Bytes& elements);

void write_plain(const std::filesystem::path& path, const Bytes& bytes);
void write_gzip(const std::filesystem::path& path, const Bytes& bytes);
Bytes read_all(const std::filesystem::path& path);

}  // namespace troupe::ops_test
