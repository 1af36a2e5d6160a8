#pragma once

namespace troupe {

/// Waits for some tens of nanoseconds, during which the sibling hyper-thread has the core.
inline void spin_pause() {
#ifdef __x86_64__
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  // `yield` does nothing on most of these processors; an instruction barrier takes about as long as a pause of x86.
  __asm__ __volatile__("isb");
#endif
}

}  // namespace troupe
