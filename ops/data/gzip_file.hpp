#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

struct gzFile_s;

namespace troupe {

/// A gzipped or plain file that is read from its beginning to its end. Every function throws Error if the file is
/// missing, truncated or damaged. The error text begins with [place] and names the file.
class GzipFile {
 public:
  GzipFile(std::string place, const std::filesystem::path& path);

  /// Reads up to `bytes` bytes; fewer only at the end of the file.
  std::size_t read(void* to, std::size_t bytes);
  /// Reads the rest of the file.
  std::string read_all();

  /// Throws Error that names the file and says what is wrong with it.
  [[noreturn]] void refuse(const std::string& what) const;

 private:
  struct Close {
    void operator()(gzFile_s* file) const;
  };
  std::string place_;
  std::filesystem::path path_;
  std::unique_ptr<gzFile_s, Close> file_;
};

}  // namespace troupe
