#pragma once

// Every error that the emulation can return, with its number and text.
#define EMULATED_CUDA_ERRORS(X)                                                                             \
  X(cudaSuccess, 0, "no error")                                                                             \
  X(cudaErrorInvalidValue, 1, "invalid argument")                                                           \
  X(cudaErrorMemoryAllocation, 2, "out of memory")                                                          \
  X(cudaErrorInitializationError, 3, "initialization error")                                                \
  X(cudaErrorCudartUnloading, 4, "driver shutting down")                                                    \
  X(cudaErrorInvalidConfiguration, 9, "invalid configuration argument")                                     \
  X(cudaErrorInvalidPitchValue, 12, "invalid pitch argument")                                               \
  X(cudaErrorInvalidSymbol, 13, "invalid device symbol")                                                    \
  X(cudaErrorInvalidDevicePointer, 17, "invalid device pointer")                                            \
  X(cudaErrorInvalidMemcpyDirection, 21, "invalid copy direction for memcpy")                               \
  X(cudaErrorInsufficientDriver, 35, "CUDA driver version is insufficient for CUDA runtime version")        \
  X(cudaErrorDevicesUnavailable, 46, "CUDA-capable device(s) is/are busy or unavailable")                   \
  X(cudaErrorInvalidDeviceFunction, 98, "invalid device function")                                          \
  X(cudaErrorNoDevice, 100, "no CUDA-capable device is detected")                                           \
  X(cudaErrorInvalidDevice, 101, "invalid device ordinal")                                                  \
  X(cudaErrorNoKernelImageForDevice, 209, "no kernel image is available for execution on the device")       \
  X(cudaErrorPeerAccessUnsupported, 217, "peer access is not supported between these two devices")          \
  X(cudaErrorInvalidResourceHandle, 400, "invalid resource handle")                                         \
  X(cudaErrorIllegalState, 401, "the operation cannot be performed in the present state")                   \
  X(cudaErrorNotReady, 600, "device not ready")                                                             \
  X(cudaErrorIllegalAddress, 700, "an illegal memory access was encountered")                               \
  X(cudaErrorLaunchOutOfResources, 701, "too many resources requested for launch")                          \
  X(cudaErrorPeerAccessAlreadyEnabled, 704, "peer access is already enabled")                               \
  X(cudaErrorPeerAccessNotEnabled, 705, "peer access has not been enabled")                                 \
  X(cudaErrorAssert, 710, "device-side assert triggered")                                                   \
  X(cudaErrorLaunchFailure, 719, "unspecified launch failure")                                              \
  X(cudaErrorNotPermitted, 800, "operation not permitted")                                                  \
  X(cudaErrorNotSupported, 801, "operation not supported")                                                  \
  X(cudaErrorStreamCaptureUnsupported, 900, "operation not permitted when stream is capturing")             \
  X(cudaErrorStreamCaptureInvalidated, 901, "operation failed due to a previous error during capture")      \
  X(cudaErrorStreamCaptureMerge, 902, "operation would result in a merge of separate capture sequences")    \
  X(cudaErrorStreamCaptureUnmatched, 903, "capture was not ended in the same stream as it began")           \
  X(cudaErrorStreamCaptureUnjoined, 904, "capturing stream has unjoined work")                              \
  X(cudaErrorStreamCaptureIsolation, 905, "dependency created on uncaptured work in another stream")        \
  X(cudaErrorStreamCaptureImplicit, 906,                                                                    \
    "operation would make the legacy stream depend on a capturing blocking stream")                         \
  X(cudaErrorCapturedEvent, 907, "operation not permitted on an event last recorded in a capturing stream") \
  X(cudaErrorStreamCaptureWrongThread, 908,                                                                 \
    "attempt to terminate a thread-local capture sequence from another thread")                             \
  X(cudaErrorUnknown, 999, "unknown error")

#define EMULATED_CUDA_ENUMERATOR(name, number, text) name = number,
enum cudaError { EMULATED_CUDA_ERRORS(EMULATED_CUDA_ENUMERATOR) };
#undef EMULATED_CUDA_ENUMERATOR
typedef enum cudaError cudaError_t;
