#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace troupe {

/// The exception that the library throws. The text begins with the place of the error in brackets, such as the name of
/// an op: `[conv2d] ...`.
class Error : public std::runtime_error {
 public:
  Error(std::string_view place, std::string_view message);
};

}  // namespace troupe
