#include "troupe/ops/core/regular_file.hpp"

#include <unistd.h>

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

void replace_file(std::string_view place, const std::filesystem::path& path,
                  std::span<const std::span<const std::byte>> parts) {
  std::error_code error;
  const auto target = std::filesystem::exists(path, error) ? std::filesystem::canonical(path, error) : path;
  const bool is_replaced = !std::filesystem::exists(target, error) || std::filesystem::is_regular_file(target, error);
  const auto written = is_replaced ? std::filesystem::path(target.string() + "." + std::to_string(getpid())) : target;
  {
    std::ofstream out(written, std::ios::binary);
    for (const auto& part : parts)
      out.write(reinterpret_cast<const char*>(part.data()), static_cast<std::streamsize>(part.size()));
    if (!out.flush()) error = std::make_error_code(std::errc::io_error);
  }
  if (!error && is_replaced) std::filesystem::rename(written, target, error);
  if (!error) return;
  std::error_code ignored;
  if (is_replaced) std::filesystem::remove(written, ignored);
  throw Error(place, "'" + path.string() + "' cannot be written");
}

}  // namespace troupe
