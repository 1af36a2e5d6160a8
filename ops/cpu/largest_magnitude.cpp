#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/fused/product_and_magnitude.hpp"

namespace troupe::cpu {

namespace {

// Bounds up to this number are results of product_and_magnitude. It is so far below the largest magnitude of an
// applied step that a bound in place of the magnitude changes no decision.
constexpr float kCertainlyFinite = 0x1p64F;

/// The largest of `largest` and the bit patterns, without sign, of n floats. The patterns of floats without sign are
/// ordered as the floats; those of NaNs are above infinity's.
TROUPE_SIMD_CLONES std::int32_t largest_pattern(std::int64_t n, const float* x, std::int32_t largest) {
  for (std::int64_t i = 0; i < n; ++i) {
    const auto pattern = std::bit_cast<std::int32_t>(x[i]) & std::numeric_limits<std::int32_t>::max();
    largest = pattern > largest ? pattern : largest;
  }
  return largest;
}

float magnitude_of(Inputs tensors) {
  std::int32_t largest = 0;
  for (const auto& tensor : tensors) largest = largest_pattern(tensor.elements(), floats(tensor), largest);
  return std::bit_cast<float>(largest);
}

/// The kernel of product_and_magnitude. The factors of a gradient have fewer elements than the product if the batch is
/// small, and they are in the cache. The product of a large layer is not.
class ProductAndMagnitude final : public Kernel {
 public:
  explicit ProductAndMagnitude(const OpCall& call)
      : product_(make_product_without_magnitude(call, make_matmul, make_outer_sum)),
        terms_(call.inputs[0].shape.elements() / std::max<std::int64_t>(call.outputs[0].shape[0], 1)) {}

  std::size_t scratch_bytes() const override { return product_->scratch_bytes(); }
  void run(const KernelContext& context, Inputs inputs, Outputs outputs) override {
    product_->run(context, inputs, outputs.first(1));
    const auto& product = outputs[0];
    auto magnitude = std::numeric_limits<float>::infinity();
    if (inputs[0].elements() + inputs[1].elements() < product.elements()) magnitude = bound(inputs[0], inputs[1]);
    if (!(magnitude <= kCertainlyFinite)) magnitude = magnitude_of(outputs.first(1));
    mutable_floats(outputs[1])[0] = magnitude;
  }

 private:
  /// A bound of the magnitudes of the product of a and b; a NaN if a or b has one. The factor 2 covers the rounding of
  /// the sums.
  float bound(const Tensor& a, const Tensor& b) const {
    return 2.0F * static_cast<float>(terms_) * magnitude_of(std::span(&a, 1)) * magnitude_of(std::span(&b, 1));
  }

  std::unique_ptr<Kernel> product_;
  std::int64_t terms_;  // the number of products that are added up for an element
};

}  // namespace

std::unique_ptr<Kernel> make_largest_magnitude(const OpCall& call) {
  return function_kernel([bound = float_attribute(call, "bound")](Inputs in, Outputs out) {
    const auto magnitude = magnitude_of(in);
    mutable_floats(out[0])[0] = magnitude > bound ? std::numeric_limits<float>::infinity() : magnitude;
  });
}

std::unique_ptr<Kernel> make_product_and_magnitude(const OpCall& call) {
  return std::make_unique<ProductAndMagnitude>(call);
}

}  // namespace troupe::cpu
