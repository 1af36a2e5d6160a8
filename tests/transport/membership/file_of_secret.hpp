#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "troupe/transport/secret.hpp"

namespace troupe::testing {

/// A file with a secret of 32 equal characters, which is removed with the object.
class FileOfSecret {
 public:
  explicit FileOfSecret(char letter)
      : text_(32, letter), path_(std::string("secret_of_") + letter + "_" + std::to_string(getpid())) {
    std::ofstream(path_) << text_;
    chmod(path_.c_str(), S_IRUSR | S_IWUSR);
  }
  ~FileOfSecret() { unlink(path_.c_str()); }
  FileOfSecret(const FileOfSecret&) = delete;
  FileOfSecret& operator=(const FileOfSecret&) = delete;

  const std::string& path() const { return path_; }
  Secret secret() const { return Secret(text_); }

 private:
  const std::string text_, path_;
};

}  // namespace troupe::testing
