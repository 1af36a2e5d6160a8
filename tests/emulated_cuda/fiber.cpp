#include "troupe/tests/emulated_cuda/fiber.hpp"

#include <cstdint>
#include <cstring>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EMULATED_CUDA_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define EMULATED_CUDA_ASAN 1
#endif
#if defined(EMULATED_CUDA_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

// ThreadSanitizer is not told about the switches, because its fibers count among the 8,128 threads that it can tell
// apart, and a block has up to 1,024. It regards all fibers of an OS thread as that thread, which is correct. Only the
// stacks that it prints for code in kernels with barriers can be wrong.

#if defined(__x86_64__)
// Saves the registers that a function must preserve on one stack, and restores them from the other. It is outside of
// any function, so that no sanitizer adds code to it.
extern "C" void emulated_cuda_swap_stacks(void** from, void* to);
asm(R"(
.text
.p2align 4
.globl emulated_cuda_swap_stacks
.hidden emulated_cuda_swap_stacks
.type emulated_cuda_swap_stacks, @function
emulated_cuda_swap_stacks:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size emulated_cuda_swap_stacks, .-emulated_cuda_swap_stacks
)");
#endif

namespace emulated_cuda {

namespace {

constexpr std::uint64_t kCanary = 0x6b8b4567327b23c6;

/// The fiber that is being resumed for the first time. It reads this in its first steps.
thread_local Fiber* entering = nullptr;

#if defined(__x86_64__)

void swap_contexts(FiberContext& from, FiberContext& to) {
  emulated_cuda_swap_stacks(&from.stack_pointer, to.stack_pointer);
}

void prepare_context(FiberContext& context, char* stack, std::size_t bytes, void (*entry)()) {
  constexpr int kSavedRegisters = 6;
  // The entry expects the stack as after a call: 8 below a multiple of 16.
  auto top = reinterpret_cast<std::uintptr_t>(stack + bytes) & ~std::uintptr_t{15};
  auto* words = reinterpret_cast<void**>(top) - 2 - kSavedRegisters;
  std::memset(words, 0, (2 + kSavedRegisters) * sizeof *words);
  words[kSavedRegisters] = reinterpret_cast<void*>(entry);
  context.stack_pointer = words;
}

#else

void swap_contexts(FiberContext& from, FiberContext& to) {
  swapcontext(&from.context, &to.context);
}

void prepare_context(FiberContext& context, char* stack, std::size_t bytes, void (*entry)()) {
  getcontext(&context.context);
  context.context.uc_stack.ss_sp = stack;
  context.context.uc_stack.ss_size = bytes;
  context.context.uc_link = nullptr;
  makecontext(&context.context, entry, 0);
}

#endif

void before_switch([[maybe_unused]] void** fake_stack, [[maybe_unused]] const FiberContext& to) {
#if defined(EMULATED_CUDA_ASAN)
  __sanitizer_start_switch_fiber(fake_stack, to.stack_bottom, to.stack_bytes);
#endif
}

void after_switch([[maybe_unused]] void* fake_stack, [[maybe_unused]] FiberContext* from) {
#if defined(EMULATED_CUDA_ASAN)
  __sanitizer_finish_switch_fiber(fake_stack, from ? &from->stack_bottom : nullptr,
                                  from ? &from->stack_bytes : nullptr);
#endif
}

void unpoison([[maybe_unused]] char* stack, [[maybe_unused]] std::size_t bytes) {
#if defined(EMULATED_CUDA_ASAN)
  __asan_unpoison_memory_region(stack, bytes);
#endif
}

}  // namespace

Fiber::Fiber(char* stack, std::size_t stack_bytes, void (*entry)())
    : stack_(stack), stack_bytes_(stack_bytes), entry_(entry) {
  restart();
}

Fiber::~Fiber() {
  unpoison(stack_, stack_bytes_);
}

void Fiber::restart() {
  unpoison(stack_, stack_bytes_);
  std::memcpy(stack_, &kCanary, sizeof kCanary);
  prepare_context(context_, stack_, stack_bytes_, &Fiber::enter);
  context_.stack_bottom = stack_;
  context_.stack_bytes = stack_bytes_;
  context_.fake_stack = nullptr;
}

void Fiber::enter() {
  Fiber* self = entering;
  after_switch(nullptr, self->caller_);
  self->entry_();
}

void Fiber::resume(FiberContext& caller) {
  caller_ = &caller;
  entering = this;
  before_switch(&caller.fake_stack, context_);
  swap_contexts(caller, context_);
  after_switch(caller.fake_stack, nullptr);
}

void Fiber::suspend() {
  before_switch(&context_.fake_stack, *caller_);
  swap_contexts(context_, *caller_);
  after_switch(context_.fake_stack, nullptr);
}

void Fiber::abandon() {
  before_switch(nullptr, *caller_);
  swap_contexts(context_, *caller_);
  __builtin_unreachable();
}

bool Fiber::is_intact() const {
  return std::memcmp(stack_, &kCanary, sizeof kCanary) == 0;
}

}  // namespace emulated_cuda
