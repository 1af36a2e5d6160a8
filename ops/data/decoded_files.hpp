#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// A folder with decoded copies of data files, which later processes map into memory in place of decoding the files
/// again. A copy belongs to a path, and to the size and the time of change of the file at that path. Thread-safe;
/// several processes may use one folder at the same time.
class DecodedFiles {
 public:
  /// Uses a folder, which is made when the first copy is written. With an empty path every file is decoded.
  explicit DecodedFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Returns the elements of a file: those of its copy, or else those that decode() returns, of which a copy is
  /// written if they take at least kLeastBytes. `format` names the form in which decode() returns them. A copy of
  /// another user, a damaged copy, and one of an earlier version of the file are left out with a line on stderr, and
  /// are replaced. If no copy can be written, none is kept. The memory of a copy belongs to this process alone: writing
  /// to it does not change the copy. Throws what decode() throws.
  Tensor get(const std::filesystem::path& file, std::string_view format, const std::function<Tensor()>& decode) const;

  static constexpr std::size_t kLeastBytes = std::size_t{1} << 20;

 private:
  std::filesystem::path folder_;
};

/// The folder that the variable TROUPE_DATA_CACHE names, or `data` in cache_folder(); empty if the variable is `off`.
std::filesystem::path decoded_files_folder();

}  // namespace troupe
