#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <memory>
#include <new>
#include <string>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/shape.hpp"

namespace troupe {

/// A gzipped or plain file that is read once from beginning to end. A gzipped file may consist of several members and
/// may be padded with zeros. The constructor throws Error if the file is missing, and the read functions if the file is
/// truncated or damaged or other bytes follow its compressed data. The text of every error begins with `place` in
/// brackets and names the file.
class GzipFile {
 public:
  GzipFile(std::string place, const std::filesystem::path& path);
  ~GzipFile();
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;

  bool compressed() const;
  /// A number of bytes that the rest of the file does not exceed: deflate makes at most 1,032 bytes of one. Source: the
  /// documentation of zlib.
  std::size_t most_bytes() const;
  /// Reads up to `bytes` bytes into `to` and returns their number, which is below `bytes` only at the end of the file.
  std::size_t read(void* to, std::size_t bytes);
  /// Returns the rest of the file, but not more than `limit` bytes. Allocates memory as the bytes are read, so a large
  /// `limit` costs no memory.
  std::string read_all(std::size_t limit = std::numeric_limits<std::size_t>::max());

  /// Throws Error with the name of the file, followed by `what`, which says what is wrong with the file.
  [[noreturn]] void refuse(const std::string& what) const;
  /// The number of elements of `shape`, which the header of the file claims. Throws Error that names the file if the
  /// number exceeds 63 bits.
  std::size_t claimed_elements(const Shape& shape) const;
  /// Returns the result of `use`, a function that reads the file or works on its contents. Throws Error that names the
  /// file if memory runs out in `use`.
  template <class Use>
  auto within_memory(Use use) const {
    try {
      return use();
    } catch (const std::bad_alloc&) {
      refuse_size();
    } catch (const OutOfMemory&) {
      refuse_size();
    }
  }

 private:
  struct Source;
  [[noreturn]] void refuse_size() const;
  bool has_input();
  bool begin_member();
  std::size_t copy(unsigned char* to, std::size_t bytes);
  std::size_t inflate_some(unsigned char* to, std::size_t bytes);

  std::string place_;
  std::filesystem::path path_;
  std::unique_ptr<Source> source_;
};

}  // namespace troupe
