#include <cstring>
#include <memory>
#include <vector>

#include "cuda_runtime_api.h"
#include "troupe/tests/emulated_cuda/error.hpp"
#include "troupe/tests/emulated_cuda/memory.hpp"
#include "troupe/tests/emulated_cuda/stream.hpp"

namespace emulated_cuda {

namespace {

/// `height` rows of `width` bytes, each `pitch` bytes after the one before.
struct Rows {
  char* begin;
  std::size_t pitch;
};

/// A copy of `height` rows of `width` bytes each.
struct Copy {
  Rows to;
  Rows from;
  std::size_t width;
  std::size_t height;
};

void run(const Copy& copy) {
  for (std::size_t i = 0; i < copy.height; ++i) {
    std::memmove(copy.to.begin + i * copy.to.pitch, copy.from.begin + i * copy.from.pitch, copy.width);
  }
}

/// The kind of memory at an address.
struct Place {
  bool is_valid = true;
  bool is_device = false;
  /// Whether the copy may run while the host continues.
  bool is_pinned = false;
};

Place place_of(const Rows& rows, std::size_t width, std::size_t height) {
  const auto allocation = find_allocation(rows.begin);
  if (!allocation) return {};
  return {allocation->contains(rows.begin, (height - 1) * rows.pitch + width), !allocation->is_host, true};
}

bool agrees(cudaMemcpyKind kind, const Place& to, const Place& from) {
  switch (kind) {
    case cudaMemcpyHostToHost:
      return !to.is_device && !from.is_device;
    case cudaMemcpyHostToDevice:
      return to.is_device && !from.is_device;
    case cudaMemcpyDeviceToHost:
      return !to.is_device && from.is_device;
    case cudaMemcpyDeviceToDevice:
      return to.is_device && from.is_device;
    default:
      return kind == cudaMemcpyDefault;
  }
}

/// Queues a copy. Pageable memory that is read is copied before the call returns, and pageable memory that is written
/// has its data when the call returns.
cudaError_t submit(Stream& stream, Copy copy, cudaMemcpyKind kind) {
  if (copy.width == 0 || copy.height == 0) return cudaSuccess;
  const Place to = place_of(copy.to, copy.width, copy.height);
  const Place from = place_of(copy.from, copy.width, copy.height);
  if (!to.is_valid || !from.is_valid) return cudaErrorInvalidValue;
  if (!agrees(kind, to, from)) return cudaErrorInvalidMemcpyDirection;
  if (stream.capture()) return stream.submit({.run = [copy] { run(copy); }});
  if (from.is_pinned) {
    if (const cudaError_t error = stream.submit({.run = [copy] { run(copy); }})) return error;
  } else {
    auto staged = std::make_shared<std::vector<char>>(copy.width * copy.height);
    run({{staged->data(), copy.width}, copy.from, copy.width, copy.height});
    copy.from = {staged->data(), copy.width};
    if (const cudaError_t error = stream.submit({.run = [copy, staged] { run(copy); }})) return error;
  }
  if (to.is_pinned) return cudaSuccess;
  stream.wait_for(stream.last_sequence_number());
  return stream.device().fault();
}

Copy in_one_row(void* to, const void* from, std::size_t bytes) {
  return {{static_cast<char*>(to), bytes}, {static_cast<char*>(const_cast<void*>(from)), bytes}, bytes, 1};
}

cudaError_t submit_set(Stream& stream, void* to, int value, std::size_t bytes) {
  if (bytes == 0) return cudaSuccess;
  const auto allocation = find_allocation(to);
  if (!allocation || !allocation->contains(to, bytes)) return cudaErrorInvalidValue;
  return stream.submit({.run = [=] { std::memset(to, value, bytes); }});
}

bool is_on(int device, const void* pointer) {
  const auto allocation = find_allocation(pointer);
  return allocation && !allocation->is_host && allocation->device == device_at(device);
}

}  // namespace

}  // namespace emulated_cuda

using namespace emulated_cuda;

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (const cudaError_t error = obstacle()) return returned(error);
  return returned(submit(*stream_of(stream), in_one_row(to, from, bytes), kind));
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  if (const cudaError_t error = obstacle()) return returned(error);
  if (const cudaError_t error = refuse_during_capture()) return returned(error);
  Stream& stream = *current_device().legacy_stream();
  if (const cudaError_t error = submit(stream, in_one_row(to, from, bytes), kind)) return returned(error);
  stream.wait_for(stream.last_sequence_number());
  return returned(current_device().fault());
}

cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  if (const cudaError_t error = obstacle()) return returned(error);
  if (width > to_pitch || width > from_pitch) return returned(cudaErrorInvalidPitchValue);
  const Copy copy{
      {static_cast<char*>(to), to_pitch}, {static_cast<char*>(const_cast<void*>(from)), from_pitch}, width, height};
  return returned(submit(*stream_of(stream), copy, kind));
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                                cudaStream_t stream) {
  if (const cudaError_t error = obstacle()) return returned(error);
  if (!device_at(to_device) || !device_at(from_device)) return returned(cudaErrorInvalidDevice);
  if (bytes > 0 && (!is_on(to_device, to) || !is_on(from_device, from))) return returned(cudaErrorInvalidValue);
  return returned(submit(*stream_of(stream), in_one_row(to, from, bytes), cudaMemcpyDeviceToDevice));
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  if (const cudaError_t error = obstacle()) return returned(error);
  return returned(submit_set(*stream_of(stream), to, value, bytes));
}

cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  if (const cudaError_t error = obstacle()) return returned(error);
  if (const cudaError_t error = refuse_during_capture()) return returned(error);
  return returned(submit_set(*current_device().legacy_stream(), to, value, bytes));
}
