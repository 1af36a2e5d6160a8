#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "troupe/tests/emulated_cuda/fiber.hpp"
#include "troupe/tests/emulated_cuda/fiber_pool.hpp"
#include "troupe/tests/emulated_cuda/warp_operation.hpp"

namespace emulated_cuda {

/// Runs the threads of one block after another on its OS thread. A thread has a separate stack only while it waits at
/// an operation of the block or the warp.
class BlockRunner {
 public:
  /// The runner of the calling OS thread.
  static BlockRunner& current();

  /// Calls `thread` for all threads of a block of blockDim, in an order that depends on `variation`. Returns false if
  /// the block has trapped or cannot go on; take_problem() then returns the reason.
  bool run(const std::function<void()>& thread, unsigned threads, std::uint64_t variation);
  std::string take_problem() { return std::exchange(problem_, {}); }

  /// Called by the running thread: waits for the others and returns the result of the operation.
  std::uint64_t wait(const Arrival& arrival);
  /// Ends the block. Its run() returns false.
  [[noreturn]] void fail(std::string problem);

 private:
  /// The bits of the lanes that wait at an operation of the warp, and of the lanes that have returned.
  struct Warp {
    unsigned waiting = 0;
    unsigned returned = 0;
  };

  static void fiber_entry();
  void begin(const std::function<void()>& thread, unsigned threads, std::uint64_t variation);
  bool step();
  void resume(Fiber& fiber);
  void run_new_threads();
  void select(unsigned index);
  void set_returned(unsigned index);
  bool try_complete_block();
  bool try_complete_warp(unsigned index);
  void release();
  std::string describe_deadlock() const;
  void discard_fibers();

  FiberPool pool_{&BlockRunner::fiber_entry};
  FiberContext scheduler_;
  Fiber* running_ = nullptr;
  const std::function<void()>* thread_ = nullptr;
  /// By the index of the thread: the fiber of a thread that has started and not returned, the operation at which it
  /// waits, and the result.
  std::vector<Fiber*> fibers_;
  std::vector<Arrival> arrivals_;
  std::vector<std::uint64_t> results_;
  std::vector<Warp> warps_;
  std::vector<unsigned> ready_;
  /// The threads whose operation is complete.
  std::vector<unsigned> met_;
  unsigned count_ = 0;
  unsigned started_ = 0;
  unsigned returned_ = 0;
  unsigned block_waiting_ = 0;
  unsigned current_ = 0;
  bool descending_ = false;
  bool release_descending_ = false;
  bool ready_first_ = false;
  bool failed_ = false;
  std::string problem_;
};

}  // namespace emulated_cuda
