#include "troupe/ops/cuda/device/invalid_value.hpp"

#include <atomic>
#include <mutex>
#include <new>
#include <vector>

#include "troupe/ops/core/error.hpp"

namespace troupe::cuda {

std::string InvalidValue::text() const {
  const auto number_text = [](long long n) { return std::to_string(n); };
  switch (kind) {
    case Kind::label:
      return "label " + number_text(value) + " " + InvalidSample::place_text(place, row_elements) +
             " is not one of the " + number_text(bound) + " classes";
    case Kind::index:
      return "index " + number_text(value) + " " + InvalidSample::place_text(place, row_elements) +
             " is not one of the " + number_text(bound) + " rows";
    case Kind::not_finite:
      return "the value is " + std::to_string(number);
    case Kind::rows:
      return "the batch info says " + number_text(value) + " rows from row " + number_text(place) +
             " on, but there are " + number_text(bound);
    case Kind::batch_rows:
      return "rows " + number_text(place) + " to " + number_text(place + value) + " of the batch are not in its " +
             number_text(bound) + " rows";
    case Kind::none:
      break;
  }
  return "a value is invalid";
}

namespace {

/// A pool of notes that no stream uses at present. Allocates pinned memory for a page of notes at a time, and never
/// frees it. Thread-safe.
class NotePool {
 public:
  InvalidValue* take() {
    std::lock_guard lock(mutex_);
    if (spare_.empty()) grow();
    auto* note = spare_.back();
    spare_.pop_back();
    return note;
  }
  /// Returns a note to the pool. No work may write to the note any more. Does not allocate, because grow() has reserved
  /// room for all notes.
  void give_back(InvalidValue* note) noexcept {
    *note = {};
    std::lock_guard lock(mutex_);
    spare_.push_back(note);
  }

 private:
  static constexpr std::size_t kNotes = 4096 / sizeof(InvalidValue);

  void grow() {
    spare_.reserve(made_ + kNotes);
    void* memory = nullptr;
    cuda::check(cudaHostAlloc(&memory, kNotes * sizeof(InvalidValue), cudaHostAllocMapped | cudaHostAllocPortable),
                "allocating pinned memory");
    for (std::size_t i = 0; i < kNotes; ++i)
      spare_.push_back(new (static_cast<InvalidValue*>(memory) + i) InvalidValue);
    made_ += kNotes;
  }

  std::mutex mutex_;
  std::vector<InvalidValue*> spare_;
  std::size_t made_ = 0;
};

NotePool& note_pool() {
  // The pool is never destroyed, because streams may be destroyed after static objects.
  static auto& pool = *new NotePool;
  return pool;
}

}  // namespace

InvalidValueNote::InvalidValueNote()
    : note_(note_pool().take(), [](InvalidValue* note) { note_pool().give_back(note); }) {
  void* device = nullptr;
  cuda::check(cudaHostGetDevicePointer(&device, note_.get(), 0), "mapping pinned memory");
  on_device_ = static_cast<InvalidValue*>(device);
}

void InvalidValueNote::check() const {
  if (std::atomic_ref(note_->complete).load(std::memory_order_acquire) == 0) return;
  if (note_->kind == InvalidValue::Kind::label || note_->kind == InvalidValue::Kind::index)
    throw InvalidSample(note_->op, note_->text(), note_->place, note_->row_elements);
  throw Error(note_->op, note_->text());
}

void InvalidValueNote::keep_for_ever() const {
  static std::mutex mutex;
  static auto& kept = *new std::vector<std::shared_ptr<InvalidValue>>;
  std::lock_guard lock(mutex);
  kept.push_back(note_);
}

}  // namespace troupe::cuda
