#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "troupe/ops/core/measured_choices.hpp"
#include "troupe/ops/cuda/device/check.hpp"

namespace troupe::cuda {

struct ProductShape;

/// The stream and the device memory on which a product or a convolution is timed. For a convolution, `a` is x and `b`
/// has the weights.
struct ProductMemory {
  cudaStream_t stream;
  std::byte *a, *b, *bias, *y, *workspace, *aux;
};

/// Times algorithms for one product or convolution, on a stream and memory of its own, which the first measure() makes.
/// Must be used by one thread, which may be capturing another stream.
class ProductTiming {
 public:
  struct Sizes {
    std::size_t a, b, bias, y, workspace;  ///< bytes
    double multiplications;
    std::size_t aux = 0;  ///< bytes
  };
  /// Launches the product or convolution once.
  using Run = std::function<void(const ProductMemory& memory)>;

  explicit ProductTiming(const Sizes& sizes);
  /// Takes the sizes from `shape`. Each run gets `workspace_bytes` of scratch memory.
  ProductTiming(const ProductShape& shape, std::size_t workspace_bytes);
  ~ProductTiming();
  ProductTiming(const ProductTiming&) = delete;
  ProductTiming& operator=(const ProductTiming&) = delete;

  /// The time of one run in microseconds; nothing if the run throws Error. Several runs are captured and launched
  /// together, so that the cost of launches does not count; the shortest time of several such launches counts. Throws
  /// CannotMeasure if the device has not enough memory, and Error if CUDA cannot make the stream or the events.
  std::optional<double> measure(const Run& run);

 private:
  static std::byte* allocate(std::size_t bytes);
  void prepare();
  void place_memory(std::byte* memory);
  double time_captured(const Run& run);

  Sizes sizes_;
  int runs_;                               // the number of runs that are timed together
  std::optional<OutsideCapture> outside_;  // empty before the first measurement
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  std::byte* allocated_ = nullptr;
  ProductMemory memory_{};
};

/// Returns the index of the candidate that MeasuredChoices::choose() takes for `key` and the model of the current GPU:
/// by default the fastest, measured once and remembered. Products and convolutions share one MeasuredChoices in this
/// process, with the file default_choices_file(). Throws Error if no candidate can be used.
std::size_t choose_on_device(const std::string& key, std::span<const std::string> candidates,
                             const MeasuredChoices::Measure& measure);

}  // namespace troupe::cuda
