#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <span>
#include <string_view>

namespace troupe {

/// Opens a file for binary reading. Throws Error that names the file if it does not exist, cannot be read, or is no
/// regular file: a folder, or a device such as /dev/zero, which never ends. The text of the error begins with `place`
/// in brackets.
std::ifstream open_regular_file(std::string_view place, const std::filesystem::path& path);

/// Throws Error that names the file if none can be written at `path`, because `path` is a folder or its folder does not
/// exist. A program checks this before the work whose results go to the file.
void expect_writable_file(std::string_view place, const std::filesystem::path& path);

/// Writes the parts, one after the other, to a new file in the same folder, which then takes the place of the file at
/// `path` in one step: no other process reads an incomplete file. Writes to `path` itself if that is no regular file,
/// such as a device. Throws Error that names the file if it cannot be written; an old file stays then.
void replace_file(std::string_view place, const std::filesystem::path& path,
                  std::span<const std::span<const std::byte>> parts);
inline void replace_file(std::string_view place, const std::filesystem::path& path, std::span<const std::byte> bytes) {
  replace_file(place, path, std::span(&bytes, 1));
}

}  // namespace troupe
