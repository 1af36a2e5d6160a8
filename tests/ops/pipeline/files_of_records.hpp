#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace troupe::ops_test {

/// A folder of files of a test, which is deleted with the object.
class FilesOfRecords {
 public:
  FilesOfRecords();
  ~FilesOfRecords();
  FilesOfRecords(const FilesOfRecords&) = delete;
  FilesOfRecords& operator=(const FilesOfRecords&) = delete;

  /// Writes a file and returns its path.
  std::string write(const std::string& name, std::string_view contents) const;
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

/// A record of a TFRecord file.
std::string tf_record(std::string_view data);

}  // namespace troupe::ops_test
