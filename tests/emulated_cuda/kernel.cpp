// The functions that kernels call.
#include <cstdio>
#include <cstdlib>

#include "cuda_runtime.h"
#include "troupe/tests/emulated_cuda/block_runner.hpp"

constinit thread_local uint3 threadIdx{0, 0, 0};
constinit thread_local uint3 blockIdx{0, 0, 0};
constinit thread_local dim3 blockDim{1, 1, 1};
constinit thread_local dim3 gridDim{1, 1, 1};

namespace emulated_cuda {

namespace {

int wait_for_block(Operation operation, int predicate) {
  Arrival arrival;
  arrival.operation = operation;
  arrival.value = predicate != 0;
  return static_cast<int>(BlockRunner::current().wait(arrival));
}

std::uint64_t wait_for_warp(Operation operation, unsigned mask, std::uint64_t value) {
  Arrival arrival;
  arrival.operation = operation;
  arrival.mask = mask;
  arrival.value = value;
  return BlockRunner::current().wait(arrival);
}

Operation operation_of(ShuffleKind kind) {
  switch (kind) {
    case ShuffleKind::kIndex:
      return Operation::kShuffle;
    case ShuffleKind::kUp:
      return Operation::kShuffleUp;
    case ShuffleKind::kDown:
      return Operation::kShuffleDown;
    default:
      return Operation::kShuffleXor;
  }
}

}  // namespace

unsigned long long shuffle(ShuffleKind kind, unsigned mask, unsigned long long bits, int operand, int width,
                           int value_bytes) {
  Arrival arrival;
  arrival.operation = operation_of(kind);
  arrival.value_bytes = static_cast<std::uint8_t>(value_bytes);
  arrival.mask = mask;
  arrival.operand = operand;
  arrival.width = width;
  arrival.value = bits;
  return BlockRunner::current().wait(arrival);
}

unsigned vote(VoteKind kind, unsigned mask, bool predicate) {
  const Operation operation = kind == VoteKind::kBallot ? Operation::kBallot
                              : kind == VoteKind::kAny  ? Operation::kAny
                                                        : Operation::kAll;
  return static_cast<unsigned>(wait_for_warp(operation, mask, predicate));
}

}  // namespace emulated_cuda

using emulated_cuda::Operation;

void __syncthreads() {
  emulated_cuda::wait_for_block(Operation::kSyncthreads, 0);
}

int __syncthreads_or(int predicate) {
  return emulated_cuda::wait_for_block(Operation::kSyncthreadsOr, predicate);
}

int __syncthreads_and(int predicate) {
  return emulated_cuda::wait_for_block(Operation::kSyncthreadsAnd, predicate);
}

int __syncthreads_count(int predicate) {
  return emulated_cuda::wait_for_block(Operation::kSyncthreadsCount, predicate);
}

void __syncwarp(unsigned mask) {
  emulated_cuda::wait_for_warp(Operation::kSyncwarp, mask, 0);
}

void __trap() {
  emulated_cuda::BlockRunner::current().fail("a thread has called __trap");
}

void __threadfence() {
#if defined(__SANITIZE_THREAD__)
  // ThreadSanitizer knows no fences. It treats this as a fence between all callers.
  static int fence = 0;
  __atomic_fetch_add(&fence, 1, __ATOMIC_SEQ_CST);
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}
