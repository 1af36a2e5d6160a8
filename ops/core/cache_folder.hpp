#pragma once

#include <filesystem>
#include <string>

namespace troupe {

/// The value of an environment variable; empty if it is not set.
std::string environment_variable(const char* name);

/// The folder in which programs of the library keep what they would otherwise compute again: `troupe` in the folder
/// that XDG_CACHE_HOME names, or in .cache of the user's home. Empty if neither variable is set. The folder may not
/// exist.
std::filesystem::path cache_folder();

}  // namespace troupe
