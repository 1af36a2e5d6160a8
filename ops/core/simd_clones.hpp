#pragma once

// TROUPE_SIMD_CLONES compiles a function once for each of several vector widths. At the start of the program the
// dynamic loader chooses the widest version that the processor can run. The macro is empty on processors other than
// x86-64, and under sanitizers, whose start-up code does not support that choice.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__x86_64__)
#define TROUPE_SIMD_CLONES
#else
#define TROUPE_SIMD_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#endif
