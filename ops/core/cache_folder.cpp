#include "troupe/ops/core/cache_folder.hpp"

#include <cstdlib>

namespace troupe {

std::string environment_variable(const char* name) {
  const auto* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::filesystem::path cache_folder() {
  if (const auto cache = environment_variable("XDG_CACHE_HOME"); !cache.empty())
    return std::filesystem::path(cache) / "troupe";
  const auto home = environment_variable("HOME");
  return home.empty() ? std::filesystem::path() : std::filesystem::path(home) / ".cache" / "troupe";
}

}  // namespace troupe
