#pragma once

#include <caf/config.hpp>
#include <caf/fwd.hpp>

namespace troupe {

/// The thread of an actor system, as CAF passes it to caf::resumable::resume().
#ifdef CAF_VERSION_MAJOR
using ExecutionUnit = caf::scheduler;
#else
using ExecutionUnit = caf::execution_unit;
#endif

}  // namespace troupe
