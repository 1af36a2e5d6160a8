#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace troupe {

/// The exception of the library. Its text begins with the place in brackets, such as the op: `[conv2d] ...`.
class Error : public std::runtime_error {
 public:
  Error(std::string_view place, std::string_view message);
};

}  // namespace troupe
