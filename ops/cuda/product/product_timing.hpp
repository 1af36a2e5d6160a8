#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "troupe/ops/core/measured_choices.hpp"
#include "troupe/ops/cuda/device/check.hpp"

namespace troupe::cuda {

struct ProductShape;

/// What a product, or a convolution, is tried on.
struct ProductMemory {
  cudaStream_t stream;
  std::byte *a, *b, *bias, *y, *workspace, *aux;
};

/// Memory of its own on which ways to compute one product are timed, on a stream of its own; taken for the first of
/// them. Used by one thread, which may be capturing another stream.
class ProductTiming {
 public:
  struct Sizes {
    std::size_t a, b, bias, y, workspace;  ///< bytes
    double multiplications;
    std::size_t aux = 0;  ///< bytes
  };
  /// Launches the product once.
  using Run = std::function<void(const ProductMemory& memory)>;

  explicit ProductTiming(const Sizes& sizes);
  /// What is timed gets `workspace_bytes` of scratch memory.
  ProductTiming(const ProductShape& shape, std::size_t workspace_bytes);
  ~ProductTiming();
  ProductTiming(const ProductTiming&) = delete;
  ProductTiming& operator=(const ProductTiming&) = delete;

  /// Microseconds of one run, the least of several, as part of captured work: what it costs to launch does not count.
  /// Nothing if it fails. Throws CannotMeasure if there is no memory to try it.
  std::optional<double> measure(const Run& run);

 private:
  static std::byte* allocate(std::size_t bytes);
  void prepare();
  void place_memory(std::byte* memory);
  double time_captured(const Run& run);

  Sizes sizes_;
  int runs_;                               // timed together
  std::optional<OutsideCapture> outside_;  // once prepared
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  std::byte* allocated_ = nullptr;
  ProductMemory memory_{};
};

/// The choices of this process among ways to compute the same, for its GPUs: see default_choices_file.
MeasuredChoices& gpu_choices();

/// The name of the current device, in one word, for choices that depend on it.
std::string device_name();

}  // namespace troupe::cuda
