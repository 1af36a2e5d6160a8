#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "troupe/ops/pipeline/transform.hpp"

// Files of records, such as lines of text. One pass over a file finds the places of its records, 8 bytes for each, so
// that the records can be read in any order, and files may be larger than memory.

namespace troupe {

/// An open file. Reads at any place, on any thread. Errors begin with `place` in brackets and name the file.
class RandomAccessFile {
 public:
  /// Throws Error if the file does not exist, cannot be read or is no regular file.
  RandomAccessFile(std::string place, std::string path);
  ~RandomAccessFile();
  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;

  const std::string& path() const { return path_; }
  /// The size when the file was opened.
  std::uint64_t bytes() const { return bytes_; }
  /// Reads as many bytes as `to` has from `offset` on. Throws Error if the file is shorter or cannot be read.
  void read(std::uint64_t offset, std::span<std::byte> to) const;
  /// Throws Error with `advice` if the file begins like a gzip file, whose records cannot be read in any order.
  void refuse_compressed(const std::string& advice) const;
  /// Throws Error with `what` behind the name of the file.
  [[noreturn]] void refuse(const std::string& what) const;

 private:
  std::string place_, path_;
  int descriptor_;
  std::uint64_t bytes_ = 0;
};

/// Reads a file from its begin to its end in large parts, for an index.
class FileScan {
 public:
  explicit FileScan(const RandomAccessFile& file) : file_(file) {}

  /// The bytes from `offset` on, at least `least` of them unless the file ends before; none at the end of the file.
  /// They are valid until the next call.
  std::span<const std::byte> from(std::uint64_t offset, std::size_t least = 1);

 private:
  const RandomAccessFile& file_;
  std::vector<std::byte> part_;
  std::uint64_t first_ = 0;  // the offset of part_
};

/// The places of the records of a file: record i lies between places i and i + 1.
using RecordPlaces = std::vector<std::uint64_t>;
/// Finds the places of the records. Throws Error if the file is damaged.
using FindRecords = std::function<RecordPlaces(const RandomAccessFile& file)>;

/// Rows with one field "record", uint8 [?], the bytes of a record, of all files one after the other. Indexed. `place`
/// begins the texts of errors; the origin of a row is its number in its file. Throws the errors of `find`, and Error if
/// a file cannot be read.
TransformPtr rows_of_files(const std::string& place, const std::vector<std::string>& paths, const FindRecords& find);

}  // namespace troupe
