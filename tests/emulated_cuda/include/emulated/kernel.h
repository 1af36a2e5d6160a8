#pragma once

#include "qualifiers.h"
#include "vector_types.h"

extern constinit thread_local uint3 threadIdx;
extern constinit thread_local uint3 blockIdx;
extern constinit thread_local dim3 blockDim;
extern constinit thread_local dim3 gridDim;
inline constexpr int warpSize = 32;

/// All threads of the block must call it, and none may have returned.
void __syncthreads();
int __syncthreads_or(int predicate);
int __syncthreads_and(int predicate);
int __syncthreads_count(int predicate);

/// Fails the launch with cudaErrorLaunchFailure. The device is lost.
[[noreturn]] void __trap();

inline void __threadfence_block() {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
/// A memory fence. ThreadSanitizer knows no fences; for it, the threads of a grid are ordered because they run one by
/// one.
void __threadfence();
inline void __threadfence_system() {
  __threadfence();
}
