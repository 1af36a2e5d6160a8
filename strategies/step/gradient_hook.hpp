#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// What is done to gradients on their way from the backward pass to the update, so that less has to travel: ops, and so
/// actors, on the edges of the gradients. Mirrored strategies ask for the sum over the replicas, bucket by bucket;
/// strategies with servers let each worker encode, and the servers decode. A hook of one's own needs encode() and
/// decode() only.
class GradientHook {
 public:
  /// Where in a graph the gradients of a replica are.
  struct Site {
    /// The same for all replicas, another one for every call: in front of the names of states.
    std::string name;
    /// A scalar: 0, or below 0 where a loss is not finite: that of any replica whose gradients are summed, or that of
    /// the replica which encodes. State must stay as it is then.
    Value verdict;
    /// Those whose gradients are summed.
    std::int64_t replicas = 1;
  };

  virtual ~GradientHook() = default;

  /// What a replica sends of its gradients, which are float32 of any shapes: one axis of any floating-point dtype. What
  /// the receiver will not learn may be kept in states, see GraphBuilder::replica_state, and sent later.
  virtual Value encode(std::span<const Value> gradients, const Site& site) const = 0;
  /// The gradients, of these shapes, that a receiver makes of it.
  virtual std::vector<Value> decode(Value encoded, std::span<const Shape> shapes) const = 0;
  /// The sums of the gradients of all replicas, on each of them the same. Unless overridden, all get what every one has
  /// encoded, decode that, and add it in the order of the replicas.
  virtual std::vector<Value> sum(std::span<const Value> gradients, const Site& site) const;
};

/// Sends 16-bit numbers, and lets replicas sum these.
class HalfPrecision final : public GradientHook {
 public:
  /// float16: 11 bits of precision, up to 65,504; what is larger becomes infinite. bfloat16: 8 bits, the range of
  /// float32. Throws Error for others.
  explicit HalfPrecision(DType dtype = DType::bfloat16);

  Value encode(std::span<const Value> gradients, const Site& site) const override;
  std::vector<Value> decode(Value encoded, std::span<const Shape> shapes) const override;
  std::vector<Value> sum(std::span<const Value> gradients, const Site& site) const override;

 private:
  DType dtype_;
};

/// Sends the largest elements alone, and keeps what is left for the next step (error feedback): Stich and others,
/// "Sparsified SGD with memory" (NeurIPS 2018).
class TopKGradients final : public GradientHook {
 public:
  /// The part of the elements that is sent, at least one of each bucket. Throws Error unless it is in (0, 1].
  explicit TopKGradients(double share);

  Value encode(std::span<const Value> gradients, const Site& site) const override;
  std::vector<Value> decode(Value encoded, std::span<const Shape> shapes) const override;

 private:
  double share_;
};

/// Sends matrices as products of two thin ones, found by one step of power iteration from those of the step before, and
/// keeps what is left for the next step: Vogels and others, "PowerSGD: practical low-rank gradient compression for
/// distributed optimization" (NeurIPS 2019). Of a gradient with more than two axes all but the last are rows. What
/// would not become smaller is sent as it is. Replicas that sum find the factors of the sum; workers of servers send
/// factors of their own.
class PowerSgd final : public GradientHook {
 public:
  /// Columns of the factors. Throws Error if there are none.
  explicit PowerSgd(std::int64_t rank);

  Value encode(std::span<const Value> gradients, const Site& site) const override;
  std::vector<Value> decode(Value encoded, std::span<const Shape> shapes) const override;
  std::vector<Value> sum(std::span<const Value> gradients, const Site& site) const override;

 private:
  std::int64_t rank_;
};

/// `none` (null), `float16`, `bfloat16`, `top_k:SHARE` or `power_sgd:RANK`. Throws Error for any other text.
std::shared_ptr<const GradientHook> gradient_hook_of(std::string_view text);

}  // namespace troupe
