#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace troupe {

// Files that survive a crash of the machine once the functions have returned.

/// Writes the parts, one after the other, to a new file at `path`, and waits until the disk has them. Throws Error that
/// names the file and the cause if a file exists there or it cannot be written; a part of a file may stay then.
void write_durably(std::string_view place, const std::filesystem::path& path,
                   std::span<const std::span<const std::byte>> parts);

/// Waits until the disk has the names of the files in a folder, unless the file system cannot do that. Throws Error
/// that names the folder and the cause.
void sync_folder(std::string_view place, const std::filesystem::path& folder);

}  // namespace troupe
