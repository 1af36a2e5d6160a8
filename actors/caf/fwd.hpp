#pragma once

// Names of CAF that headers of plans need, so that a program that only trains compiles none of its headers.

namespace caf {

class actor;
class actor_system;
class actor_system_config;

}  // namespace caf
