#pragma once

// Clones of a function for wider vectors, chosen when the program starts. The sanitizers' own start-up code does not
// bear the run-time choice, and they look for faults, not speed.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__x86_64__)
#define TROUPE_SIMD_CLONES
#else
#define TROUPE_SIMD_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#endif
