#pragma once

#include <caf/actor_system.hpp>
#include <caf/config.hpp>
#include <caf/error.hpp>
#include <string>

namespace troupe {

/// An error of CAF as a text.
inline std::string error_text([[maybe_unused]] const caf::actor_system& system, const caf::error& error) {
#ifdef CAF_VERSION_MAJOR
  return caf::to_string(error);
#else
  return system.render(error);
#endif
}

}  // namespace troupe
