#pragma once

#include <cstddef>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace emulated_cuda {

/// The point at which a suspended flow of control continues: its stack pointer.
struct FiberContext {
#if defined(__x86_64__)
  void* stack_pointer = nullptr;
#else
  ucontext_t context;
#endif
  const void* stack_bottom = nullptr;
  std::size_t stack_bytes = 0;
  void* fake_stack = nullptr;
};

/// A stack and the function that runs on it. Belongs to one OS thread and never leaves it.
class Fiber {
 public:
  /// `entry` must not return. It runs when the fiber is first resumed. The stack must outlive the fiber.
  Fiber(char* stack, std::size_t stack_bytes, void (*entry)());
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Runs the fiber until it suspends. Called on the OS thread's own stack.
  void resume(FiberContext& caller);
  /// Returns to the caller of resume().
  void suspend();
  /// Suspends a fiber that is used again only after restart().
  [[noreturn]] void abandon();
  /// Drops the fiber's state: the next resume() calls the entry.
  void restart();
  /// Whether the fiber has not written beyond the end of its stack.
  bool is_intact() const;

 private:
  static void enter();

  char* stack_;
  std::size_t stack_bytes_;
  void (*entry_)();
  FiberContext context_;
  FiberContext* caller_ = nullptr;
};

}  // namespace emulated_cuda
