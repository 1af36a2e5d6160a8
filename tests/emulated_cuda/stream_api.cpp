#include "troupe/tests/emulated_cuda/error.hpp"
#include "troupe/tests/emulated_cuda/stream.hpp"

using namespace emulated_cuda;

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int /*priority*/) {
  return cudaStreamCreateWithFlags(stream, flags);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* handle, unsigned int flags) {
  if (const cudaError_t error = obstacle()) return returned(error);
  if (flags > cudaStreamNonBlocking) return returned(cudaErrorInvalidValue);
  Device& device = current_device();
  const auto kind = flags & cudaStreamNonBlocking ? Stream::Kind::kNonBlocking : Stream::Kind::kBlocking;
  auto stream = std::make_shared<Stream>(device, kind);
  device.add_stream(stream);
  *handle = new CUstream_st{std::move(stream)};
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy) return returned(cudaErrorInvalidResourceHandle);
  if (const auto capture = handle->stream->capture()) capture->invalidate();
  handle->stream->close();
  delete handle;
  return returned(obstacle());
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  if (const cudaError_t error = obstacle()) return returned(error);
  const auto stream = stream_of(handle);
  if (const cudaError_t error = refuse_during_capture(*stream)) return returned(error);
  stream->wait_for(stream->last_sequence_number());
  return returned(stream->device().fault());
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  if (const cudaError_t error = obstacle()) return returned(error);
  const auto stream = stream_of(handle);
  if (const cudaError_t error = refuse_during_capture(*stream)) return returned(error);
  if (const cudaError_t fault = stream->device().fault()) return returned(fault);
  return returned(stream->is_idle() ? cudaSuccess : cudaErrorNotReady);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* data) {
  if (const cudaError_t error = obstacle()) return returned(error);
  return returned(stream_of(handle)->submit({.run = [function, data] {
    InHostFunction guard;
    function(data);
  }}));
}
