#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "troupe/ops/cuda/check.hpp"

namespace troupe::cuda {

class Product;
struct ProductShape;

/// Memory of its own on which products of one shape are timed, on a stream of its own; taken for the first of them.
class ProductTiming {
 public:
  explicit ProductTiming(const ProductShape& shape);
  ~ProductTiming();
  ProductTiming(const ProductTiming&) = delete;
  ProductTiming& operator=(const ProductTiming&) = delete;

  /// Microseconds of one run, the least of several; nothing if it fails or there is no memory to try it.
  std::optional<double> measure(const Product& product);

 private:
  bool prepare();

  std::size_t a_bytes_, b_bytes_, bias_bytes_, y_bytes_;
  bool prepared_ = false;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  std::byte* memory_ = nullptr;
};

/// The name of the current device, in one word, for choices that depend on it.
std::string device_name();

}  // namespace troupe::cuda
