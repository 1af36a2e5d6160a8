// Counts what training steps allocate once the first ones are over: Troupe itself nothing, CAF once for every message
// between threads, oneDNN for the arguments of its primitives. Ends with 1 if anything else is allocated.

#include <link.h>

#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <new>

#include <caf/mailbox_element.hpp>

#include "troupe/examples/models.hpp"
#include "troupe/examples/resnet.hpp"
#include "troupe/examples/text_models.hpp"
#include "troupe/ops/core/matmul_precision.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/training/trainer.hpp"

// Under the names of the C library, whose own functions call these, too.
extern "C" {
void* __libc_malloc(std::size_t bytes);
void __libc_free(void* memory);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
}

namespace {

std::atomic<std::int64_t> by_onednn{0}, by_others{0}, messages_sent{0};
/// Where the code of oneDNN lies.
std::uintptr_t onednn_begin = 0, onednn_end = 0;

void* counted(void* memory, const void* caller) {
  const auto code = reinterpret_cast<std::uintptr_t>(caller);
  (code >= onednn_begin && code < onednn_end ? by_onednn : by_others).fetch_add(1, std::memory_order_relaxed);
  return memory;
}

int find_onednn(dl_phdr_info* library, std::size_t, void*) {
  if (std::strstr(library->dlpi_name, "libdnnl") == nullptr) return 0;
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const auto& part = library->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    onednn_begin = library->dlpi_addr + part.p_vaddr;
    onednn_end = onednn_begin + part.p_memsz;
  }
  return 1;
}

}  // namespace

extern "C" {
void* malloc(std::size_t bytes) {
  return counted(__libc_malloc(bytes), __builtin_return_address(0));
}
void* calloc(std::size_t count, std::size_t bytes) {
  return counted(__libc_calloc(count, bytes), __builtin_return_address(0));
}
void* realloc(void* memory, std::size_t bytes) {
  return counted(__libc_realloc(memory, bytes), __builtin_return_address(0));
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return counted(__libc_memalign(alignment, bytes), __builtin_return_address(0));
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  *memory = counted(__libc_memalign(alignment, bytes), __builtin_return_address(0));
  return *memory == nullptr ? ENOMEM : 0;
}
}

void* operator new(std::size_t bytes) {
  if (auto* memory = counted(__libc_malloc(bytes), __builtin_return_address(0))) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  __libc_free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  __libc_free(memory);
}

// In place of CAF's own, which does the same but for the count: every message is one of these.
caf::mailbox_element::mailbox_element(caf::strong_actor_ptr&& from, caf::message_id id, forwarding_stack&& further)
    : sender(std::move(from)), mid(id), stages(std::move(further)) {
  messages_sent.fetch_add(1, std::memory_order_relaxed);
}

namespace {

using namespace troupe;

struct Counts {
  std::int64_t onednn, messages, others;
};

/// Numbers below `classes`.
Tensor integers(const Shape& shape, std::int32_t classes) {
  Tensor tensor(shape, DType::int32);
  for (std::int32_t i = 0; auto& element : tensor.mutable_data<std::int32_t>()) element = i++ * 7 % classes;
  return tensor;
}

constexpr std::int64_t kFewSteps = 30, kManySteps = 130;

/// An epoch of a few steps and many.
Dataset images(std::int64_t batch) {
  const auto rows = (kFewSteps + kManySteps) * batch;
  return Dataset::from_arrays(
             {{"features", Tensor(Shape{rows, 28, 28, 1}, DType::float32)}, {"labels", integers(Shape{rows}, 10)}})
      .batch(batch);
}

Dataset text(std::int64_t batch) {
  const Shape shape{(kFewSteps + kManySteps) * batch, 16};
  return Dataset::from_arrays({{"text", integers(shape, 30)}, {"next", integers(shape, 30)}}).batch(batch);
}

/// What so many steps allocate, with all that begins and ends a fit.
Counts count(Trainer& trainer, const Dataset& data, std::int64_t steps) {
  const Counts before{by_onednn, messages_sent, by_others};
  trainer.fit(data, {.max_steps = steps});
  return {by_onednn - before.onednn, messages_sent - before.messages, by_others - before.others};
}

/// The further counts of a longer fit are those of its further steps. The looks at its progress, ten a second, allocate
/// nothing, so a busy machine changes no count. Threads may meet so that a queue grows once more: what every step
/// allocates is there in each of several tries.
bool allocates_nothing(const char* name, const Model& model, const Dataset& data, int replicas) {
  constexpr std::int64_t kSteps = kManySteps - kFewSteps;
  const Runtime runtime({.cpu_devices = replicas});
  const Mirrored strategy(runtime.devices());
  Trainer trainer(runtime, strategy, model, Adam{}, SoftmaxCrossEntropy{});
  trainer.fit(data, {.epochs = 2});
  for (int attempt = 0; attempt < 5; ++attempt) {
    const auto few = count(trainer, data, kFewSteps), many = count(trainer, data, kManySteps);
    const auto messages = many.messages - few.messages, by_troupe = many.others - few.others - messages;
    const auto per_step = [](std::int64_t count) { return static_cast<double>(count) / kSteps; };
    std::printf("%-7s replicas %d: a step allocates %.2f in oneDNN, %.2f messages, %.2f in Troupe\n", name, replicas,
                per_step(many.onednn - few.onednn), per_step(messages), per_step(by_troupe));
    if (std::abs(per_step(by_troupe)) < 0.5) return true;
  }
  return false;
}

}  // namespace

int main() {
  dl_iterate_phdr(find_onednn, nullptr);
  bool nothing = onednn_begin != 0;
  for (int replicas : {1, 2}) {
    nothing &= allocates_nothing("mlp", examples::mlp(), images(64), replicas);
    nothing &= allocates_nothing("cnn", examples::cnn(), images(32), replicas);
    nothing &= allocates_nothing("resnet", examples::resnet20(), images(2), replicas);
    nothing &= allocates_nothing("gpt", examples::gpt(30, {.layers = 2, .heads = 2, .width = 32}), text(8), replicas);
    nothing &= allocates_nothing("lstm", examples::lstm_model(30, 32), text(8), replicas);
  }
  for (const auto precision : {MatmulPrecision::bfloat16, MatmulPrecision::float16}) {
    set_matmul_precision(precision);
    nothing &= allocates_nothing("resnet", examples::resnet20(), images(2), 1);
    nothing &= allocates_nothing("gpt", examples::gpt(30, {.layers = 2, .heads = 2, .width = 32}), text(8), 1);
  }
  return nothing ? 0 : 1;
}
