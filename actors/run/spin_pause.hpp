#pragma once

namespace troupe {

/// Yields the core to its sibling hyper-thread for a moment.
inline void spin_pause() {
#ifdef __x86_64__
  __builtin_ia32_pause();
#endif
}

}  // namespace troupe
