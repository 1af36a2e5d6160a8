#include "troupe/ops/core/regular_file.hpp"

#include <string>
#include <system_error>

#include "troupe/ops/core/error.hpp"

namespace troupe {

std::ifstream open_regular_file(std::string_view place, const std::filesystem::path& path) {
  std::error_code unreadable;
  if (!std::filesystem::is_regular_file(path, unreadable))
    throw Error(place, "'" + path.string() + "' does not exist or is no regular file");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(place, "'" + path.string() + "' cannot be read");
  return file;
}

void expect_writable_file(std::string_view place, const std::filesystem::path& path) {
  std::error_code unreadable;
  if (std::filesystem::is_directory(path, unreadable))
    throw Error(place, "'" + path.string() + "' is a folder, not a file that can be written");
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  if (!std::filesystem::is_directory(folder, unreadable))
    throw Error(place, "'" + path.string() + "' cannot be written: its folder does not exist");
}

}  // namespace troupe
