#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "troupe/strategies/checkpoint/checkpoint.hpp"

namespace troupe {

/// Reads the checkpoint of a step, and checks all of it. Throws Error that names the file and the first difference from
/// the manifest if a file is missing, truncated, damaged or of another version, and that names the newest other
/// checkpoint before this one.
Checkpoint read_checkpoint(const std::filesystem::path& folder, std::int64_t step);

/// Reads the checkpoint of the largest step, like read_checkpoint(); nothing if there is none.
std::optional<Checkpoint> read_newest_checkpoint(const std::filesystem::path& folder);

}  // namespace troupe
