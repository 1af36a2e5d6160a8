#include "troupe/ops/cuda/invalid_value.hpp"

#include <atomic>
#include <new>

#include "troupe/ops/core/error.hpp"

namespace troupe::cuda {

std::string InvalidValue::text() const {
  const auto number_text = [](long long n) { return std::to_string(n); };
  switch (kind) {
    case Kind::label:
      return "label " + number_text(value) + " of row " + number_text(place) + " is not one of the " +
             number_text(bound) + " classes";
    case Kind::index:
      return "index " + number_text(value) + " at place " + number_text(place) + " is not one of the " +
             number_text(bound) + " rows";
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

InvalidValueNote::InvalidValueNote() {
  void* memory = nullptr;
  cuda::check(cudaHostAlloc(&memory, sizeof(InvalidValue), cudaHostAllocMapped | cudaHostAllocPortable),
              "allocating pinned memory");
  note_ = {new (memory) InvalidValue, [](InvalidValue* note) { (void)cudaFreeHost(note); }};
  void* device = nullptr;
  cuda::check(cudaHostGetDevicePointer(&device, memory, 0), "mapping pinned memory");
  on_device_ = static_cast<InvalidValue*>(device);
}

void InvalidValueNote::check() const {
  if (std::atomic_ref(note_->complete).load(std::memory_order_acquire) != 0) throw Error(note_->op, note_->text());
}

}  // namespace troupe::cuda
