#include "troupe/ops/data/field.hpp"

namespace troupe {

std::string to_string(const Field& field) {
  return "'" + field.name + "' " + to_string(field.info);
}

}  // namespace troupe
