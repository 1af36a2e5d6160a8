#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

// A folder of checkpoints. Each is a folder `step-NUMBER` with the values in .safetensors files, and a manifest with
// the hashes of the values, which is written last. A checkpoint is made under another name, and gets its own when the
// disk has all of it, so a folder of that name is complete after a crash of the program or of the machine.

/// The steps of the checkpoints in a folder, in ascending order; empty if the folder does not exist. Throws Error if it
/// cannot be read.
std::vector<std::int64_t> checkpoint_steps(const std::filesystem::path& folder);

/// The name of the folder of a step.
std::string checkpoint_name(std::int64_t step);

/// The paths in a folder. Throws Error if the folder cannot be read.
std::vector<std::filesystem::path> paths_in(const std::filesystem::path& folder);

/// The place of errors of checkpoints, with which their texts begin.
inline constexpr const char* kCheckpointPlace = "checkpoint";
/// The name of the file with the manifest of a checkpoint.
inline constexpr const char* kManifestFile = "manifest.json";

/// A hash of the elements of a value in host memory, as a manifest has it.
std::string checkpoint_hash(const Tensor& value);

/// The rows of a value: the size of its first axis, or 1 without axes.
std::int64_t checkpoint_rows(const Shape& shape);

}  // namespace troupe
