#pragma once

#include <caf/actor_system_config.hpp>
#include <caf/config.hpp>

#ifdef CAF_VERSION_MAJOR
#include <caf/init_global_meta_objects.hpp>
#include <mutex>
#endif

namespace troupe {

#ifdef CAF_VERSION_MAJOR
namespace detail {
inline std::mutex message_types_mutex;
}
#endif

/// Registers message types with actor systems. `Blocks` are blocks of CAF_BEGIN_TYPE_ID_BLOCK: caf::id_block::troupe
/// (actors/messages/messages.hpp) for every program that runs plans, and the program's own. Must be called before an
/// actor system is made from `config`. CAF 1.x keeps the types for the whole process, so a program with several actor
/// systems must name all blocks before it makes the first of these systems. Thread-safe if each configuration is used
/// by one thread.
template <class... Blocks>
void register_messages([[maybe_unused]] caf::actor_system_config& config) {
#ifdef CAF_VERSION_MAJOR
  const std::lock_guard lock(detail::message_types_mutex);
  caf::core::init_global_meta_objects();
  (caf::init_global_meta_objects<Blocks>(), ...);
#else
  (config.add_message_types<Blocks>(), ...);
#endif
}

}  // namespace troupe
