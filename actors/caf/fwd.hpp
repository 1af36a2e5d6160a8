#pragma once

// Forward declarations for public headers, so that a program that only trains compiles no header of CAF.

namespace caf {

class actor;
class actor_system;
class actor_system_config;

}  // namespace caf
