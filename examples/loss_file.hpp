#pragma once

#include <fstream>
#include <string>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/regular_file.hpp"

namespace troupe::examples {

/// Writes the loss of every step as a line of a file. Writes nothing if the name is empty.
class LossFile {
 public:
  explicit LossFile(const std::string& name) : name_(name) {
    if (name.empty()) return;
    expect_writable_file("losses", name);
    out_.open(name);
    out_.precision(9);
    if (!out_) throw Error("losses", "'" + name + "' cannot be written");
  }
  void add(double loss) {
    if (!name_.empty() && !(out_ << loss << std::endl)) throw Error("losses", "'" + name_ + "' cannot be written");
  }

 private:
  std::string name_;
  std::ofstream out_;
};

}  // namespace troupe::examples
