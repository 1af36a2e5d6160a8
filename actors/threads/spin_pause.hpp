#pragma once

namespace troupe {

/// Waits for some tens of nanoseconds, during which the sibling hyper-thread has the core. Does nothing on processors
/// other than x86-64 and 64-bit ARM.
inline void spin_pause() {
#ifdef __x86_64__
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  // The instruction `yield` does nothing on most ARM processors; an instruction barrier takes about as long as a pause
  // of x86.
  __asm__ __volatile__("isb");
#endif
}

}  // namespace troupe
