#include "troupe/ops/core/error.hpp"

namespace troupe {

Error::Error(std::string_view place, std::string_view message)
    : std::runtime_error("[" + std::string(place) + "] " + std::string(message)) {}

}  // namespace troupe
