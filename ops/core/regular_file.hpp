#pragma once

#include <filesystem>
#include <fstream>
#include <string_view>

namespace troupe {

/// Opens a file for binary reading. Throws Error that names the file if it does not exist, cannot be read, or is no
/// regular file: a folder, or a device such as /dev/zero, which never ends. The text of the error begins with `place`
/// in brackets.
std::ifstream open_regular_file(std::string_view place, const std::filesystem::path& path);

/// Throws Error that names the file if none can be written at `path`, because `path` is a folder or its folder does not
/// exist. A program checks this before the work whose results go to the file.
void expect_writable_file(std::string_view place, const std::filesystem::path& path);

}  // namespace troupe
