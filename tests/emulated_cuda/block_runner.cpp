#include "troupe/tests/emulated_cuda/block_runner.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "cuda_runtime.h"

namespace emulated_cuda {

BlockRunner& BlockRunner::current() {
  thread_local BlockRunner runner;
  return runner;
}

bool BlockRunner::run(const std::function<void()>& thread, unsigned threads, std::uint64_t variation) {
  begin(thread, threads, variation);
  while (step()) continue;
  if (failed_) discard_fibers();
  thread_ = nullptr;
  return !failed_;
}

void BlockRunner::begin(const std::function<void()>& thread, unsigned threads, std::uint64_t variation) {
  thread_ = &thread;
  count_ = threads;
  started_ = returned_ = block_waiting_ = 0;
  fibers_.assign(threads, nullptr);
  arrivals_.resize((threads + 31) / 32 * 32);
  results_.resize(threads);
  warps_.assign((threads + 31) / 32, {});
  ready_.clear();
  descending_ = variation & 1;
  release_descending_ = variation & 2;
  ready_first_ = variation & 4;
  failed_ = false;
}

bool BlockRunner::step() {
  if (failed_) return false;
  const bool has_new = started_ < count_;
  if (!ready_.empty() && (ready_first_ || !has_new)) {
    const unsigned index = ready_.back();
    ready_.pop_back();
    resume(*fibers_[index]);
  } else if (has_new) {
    resume(pool_.take());
  } else {
    failed_ = returned_ < count_;
    if (failed_) problem_ = describe_deadlock();
    return false;
  }
  return true;
}

void BlockRunner::resume(Fiber& fiber) {
  running_ = &fiber;
  fiber.resume(scheduler_);
}

void BlockRunner::fiber_entry() {
  BlockRunner& runner = current();
  for (;;) {
    Fiber& self = *runner.running_;
    runner.run_new_threads();
    if (!self.is_intact()) {
      std::fprintf(stderr, "emulated CUDA: a thread of a kernel needs more stack than there is\n");
      std::abort();
    }
    runner.pool_.give_back(self);
    self.suspend();
  }
}

void BlockRunner::run_new_threads() {
  Fiber* const self = running_;
  while (started_ < count_ && (ready_.empty() || !ready_first_)) {
    const unsigned index = descending_ ? count_ - 1 - started_ : started_;
    ++started_;
    fibers_[index] = self;
    select(index);
    (*thread_)();
    set_returned(index);
  }
}

void BlockRunner::select(unsigned index) {
  current_ = index;
  if (index < blockDim.x) {
    threadIdx = {index, 0, 0};
  } else {
    const unsigned row = index / blockDim.x;
    threadIdx = {index % blockDim.x, row % blockDim.y, row / blockDim.y};
  }
}

void BlockRunner::set_returned(unsigned index) {
  ++returned_;
  fibers_[index] = nullptr;
  Warp& warp = warps_[index / 32];
  warp.returned |= 1u << index % 32;
  for (unsigned lane = 0; lane < 32 && warp.waiting; ++lane) {
    if (warp.waiting >> lane & 1) try_complete_warp(index / 32 * 32 + lane);
  }
}

std::uint64_t BlockRunner::wait(const Arrival& arrival) {
  const unsigned index = current_;
  arrivals_[index] = arrival;
  bool complete = false;
  if (is_block_wide(arrival.operation)) {
    ++block_waiting_;
    complete = try_complete_block();
  } else {
    if (!(arrival.mask >> index % 32 & 1)) fail("a thread that is not in the mask calls an operation of the warp");
    warps_[index / 32].waiting |= 1u << index % 32;
    complete = try_complete_warp(index);
  }
  if (!complete) {
    fibers_[index]->suspend();
    select(index);
  }
  arrivals_[index].operation = Operation::kNone;
  return results_[index];
}

bool BlockRunner::try_complete_block() {
  if (block_waiting_ < count_) return false;
  unsigned trues = 0;
  met_.clear();
  for (unsigned i = 0; i < count_; ++i) {
    if (arrivals_[i].operation != arrivals_[0].operation) return false;
    trues += arrivals_[i].value != 0;
    met_.push_back(i);
  }
  const Operation operation = arrivals_[0].operation;
  const unsigned result = operation == Operation::kSyncthreadsOr    ? trues > 0
                          : operation == Operation::kSyncthreadsAnd ? trues == count_
                                                                    : trues;
  std::fill(results_.begin(), results_.end(), result);
  block_waiting_ = 0;
  release();
  return true;
}

bool BlockRunner::try_complete_warp(unsigned index) {
  const unsigned first = index / 32 * 32;
  Warp& warp = warps_[index / 32];
  const Arrival* lanes = &arrivals_[first];
  const unsigned existing = count_ - first >= 32 ? ~0u : (1u << (count_ - first)) - 1;
  const unsigned present = lanes[index % 32].mask & existing & ~warp.returned;
  if ((warp.waiting & present) != present) return false;
  met_.clear();
  for (unsigned i = 0; i < 32; ++i) {
    if (!(present >> i & 1)) continue;
    if (!meet(lanes[i], lanes[index % 32])) return false;
    met_.push_back(first + i);
  }
  for (unsigned i : met_) results_[i] = result_for(static_cast<int>(i % 32), lanes, present);
  warp.waiting &= ~present;
  release();
  return true;
}

// Makes the threads of a complete operation ready. The thread that completes it continues without having been
// suspended.
void BlockRunner::release() {
  const auto begin = ready_.size();
  for (unsigned i : met_) {
    if (i != current_) ready_.push_back(i);
  }
  if (!release_descending_) std::reverse(ready_.begin() + static_cast<std::ptrdiff_t>(begin), ready_.end());
}

void BlockRunner::fail(std::string problem) {
  problem_ = std::move(problem);
  failed_ = true;
  running_->abandon();
}

std::string BlockRunner::describe_deadlock() const {
  std::vector<unsigned> waiting(static_cast<std::size_t>(Operation::kAll) + 1);
  for (unsigned i = 0; i < count_; ++i) {
    if (fibers_[i]) ++waiting[static_cast<std::size_t>(arrivals_[i].operation)];
  }
  std::string text = "the threads of a block wait for each other: ";
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    if (waiting[i]) text += std::to_string(waiting[i]) + " at " + name_of(static_cast<Operation>(i)) + ", ";
  }
  return text + std::to_string(returned_) + " have returned";
}

void BlockRunner::discard_fibers() {
  for (Fiber*& fiber : fibers_) {
    if (!fiber) continue;
    fiber->restart();
    pool_.give_back(*fiber);
    fiber = nullptr;
  }
}

}  // namespace emulated_cuda
