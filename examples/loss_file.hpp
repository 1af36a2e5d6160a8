#pragma once

#include <fstream>
#include <string>

#include "troupe/ops/core/error.hpp"

namespace troupe::examples {

/// The loss of every step as a line of a file; without a name nothing is written.
class LossFile {
 public:
  explicit LossFile(const std::string& name) : name_(name) {
    if (name.empty()) return;
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
