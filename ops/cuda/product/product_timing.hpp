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

/// The memory on which a product or a convolution is timed.
struct ProductMemory {
  cudaStream_t stream;
  std::byte *a, *b, *bias, *y, *workspace, *aux;
};

/// Times algorithms for one product, on memory and a stream of its own, which are allocated before the first
/// measurement. Used by one thread, which may be capturing another stream.
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
  /// The runs get `workspace_bytes` of scratch memory.
  ProductTiming(const ProductShape& shape, std::size_t workspace_bytes);
  ~ProductTiming();
  ProductTiming(const ProductTiming&) = delete;
  ProductTiming& operator=(const ProductTiming&) = delete;

  /// The time of one run in microseconds, the shortest of several, as part of captured work: the cost of a launch does
  /// not count. Nothing if the run fails. Throws CannotMeasure if there is not enough memory.
  std::optional<double> measure(const Run& run);

 private:
  static std::byte* allocate(std::size_t bytes);
  void prepare();
  void place_memory(std::byte* memory);
  double time_captured(const Run& run);

  Sizes sizes_;
  int runs_;                               // timed together
  std::optional<OutsideCapture> outside_;  // once the memory is allocated
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  std::byte* allocated_ = nullptr;
  ProductMemory memory_{};
};

/// The number of the candidate for a key on a GPU like the current device, by the choices of this process; see
/// MeasuredChoices::choose and default_choices_file. Throws Error if no candidate can be used.
std::size_t choose_on_device(const std::string& key, std::span<const std::string> candidates,
                             const MeasuredChoices::Measure& measure);

}  // namespace troupe::cuda
