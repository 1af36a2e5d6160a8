#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// Makes gradients smaller on their way from the backward pass to the update: adds ops, and so actors, to the edges of
/// the gradients. Mirrored strategies call sum() for each bucket. With parameters on servers, each worker encodes and
/// the servers decode. A user's hook needs encode() and decode() only.
class GradientHook {
 public:
  /// A place in the graph of a replica at which gradients are encoded or summed.
  struct Site {
    /// Prefix of the names of states: the same on all replicas, different for every call.
    std::string name;
    /// A scalar: 0 if the loss is finite, below 0 otherwise. In sum(), the losses of all replicas count; in encode(),
    /// the loss of the replica that encodes. States must not change if it is below 0.
    Value loss_is_finite;
    /// Number of replicas whose gradients are summed.
    std::int64_t replicas = 1;
  };

  virtual ~GradientHook() = default;

  /// Encodes the gradients of a replica, float32 of any shapes, in one axis of any floating-point dtype. The part that
  /// the encoding omits may be kept in states, see GraphBuilder::replica_state, and sent later.
  virtual Value encode(std::span<const Value> gradients, const Site& site) const = 0;
  /// Decodes gradients of these shapes.
  virtual std::vector<Value> decode(Value encoded, std::span<const Shape> shapes) const = 0;
  /// The sums of the gradients over all replicas, the same on each replica. By default every replica gathers the
  /// encodings of all, decodes them, and adds them in the order of the replicas.
  virtual std::vector<Value> sum(std::span<const Value> gradients, const Site& site) const;
};

/// Sends 16-bit numbers. Replicas sum in 16 bits.
class HalfPrecision final : public GradientHook {
 public:
  /// float16 has 11 bits of precision; numbers above 65,504 become infinite. bfloat16 has 8 bits and the range of
  /// float32. Throws Error for other dtypes.
  explicit HalfPrecision(DType dtype = DType::bfloat16);

  Value encode(std::span<const Value> gradients, const Site& site) const override;
  std::vector<Value> decode(Value encoded, std::span<const Shape> shapes) const override;
  std::vector<Value> sum(std::span<const Value> gradients, const Site& site) const override;

 private:
  DType dtype_;
};

/// Sends the elements with the largest magnitude, and adds the rest to the gradients of the next step (error feedback).
/// Source: S. Stich et al., Sparsified SGD with memory, NeurIPS 2018.
class TopKGradients final : public GradientHook {
 public:
  /// `share` of the elements of each bucket is sent, at least one. Throws Error unless it is in (0, 1].
  explicit TopKGradients(double share);

  Value encode(std::span<const Value> gradients, const Site& site) const override;
  std::vector<Value> decode(Value encoded, std::span<const Shape> shapes) const override;

 private:
  double share_;
};

/// Sends each matrix as a product of two thin factors, computed by one step of power iteration from the factors of the
/// previous step, and adds the rest to the gradients of the next step. All axes of a gradient but the last are rows. A
/// gradient that would not become smaller is sent unchanged. In sum(), the factors are those of the sum; workers of
/// servers send factors of their own gradients. Source: T. Vogels et al., PowerSGD: practical low-rank gradient
/// compression for distributed optimization, NeurIPS 2019.
class PowerSgd final : public GradientHook {
 public:
  /// The factors have `rank` columns. Throws Error if it is below 1.
  explicit PowerSgd(std::int64_t rank);

  Value encode(std::span<const Value> gradients, const Site& site) const override;
  std::vector<Value> decode(Value encoded, std::span<const Shape> shapes) const override;
  std::vector<Value> sum(std::span<const Value> gradients, const Site& site) const override;

 private:
  std::int64_t rank_;
};

/// The hook that a text names: `none` (null), `float16`, `bfloat16`, `top_k:SHARE` or `power_sgd:RANK`. Throws Error
/// for any other text.
std::shared_ptr<const GradientHook> gradient_hook_of(std::string_view text);

}  // namespace troupe
