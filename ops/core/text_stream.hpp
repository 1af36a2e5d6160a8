#pragma once

#include <locale>
#include <sstream>

namespace troupe {

/// A stream that writes numbers alike in every locale of the program: with a decimal point and without separators
/// between groups of digits.
class TextStream : public std::ostringstream {
 public:
  TextStream() { imbue(std::locale::classic()); }
};

}  // namespace troupe
