#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// Compresses gradients between the backward pass and the update, by ops that it adds to the graph of a replica.
/// Mirrored strategies call sum() for each bucket of gradients. With parameters on servers, each worker encodes its
/// gradients and the servers decode them. A user's hook needs to define encode() and decode() only.
class GradientHook {
 public:
  /// States of a hook, each with the value that it gets if the step is applied.
  using NextStates = std::vector<std::pair<Value, Value>>;

  /// A point in the graph of a replica at which gradients are encoded or summed.
  struct Site {
    /// The prefix of the names of the hook's states. It is the same on all replicas, and different for every call.
    std::string name;
    /// The list to which set_state() adds. The strategy owns it, and adds the ops that set the states once the graph
    /// has the decision whether the step is applied.
    NextStates& next_states;
    /// The number of replicas whose gradients sum() adds.
    std::int64_t replicas = 1;

    /// Gives a state the value `next` if the step is applied. A step whose loss or gradients are not finite changes no
    /// state. Replicas that share a step decide together: those of Mirrored strategies, and workers of a parameter
    /// server if every update takes the gradients of all of them. Any other worker decides over its own gradients.
    void set_state(Value state, Value next) const { next_states.emplace_back(state, next); }
  };

  virtual ~GradientHook() = default;

  /// Encodes the gradients of a replica, which are float32 of any shapes. Must return one value with one axis, of any
  /// dtype that ops can cast from float32. The part of the gradients that the encoding omits may be kept in states, see
  /// GraphBuilder::replica_state, and sent in a later step.
  virtual Value encode(std::span<const Value> gradients, const Site& site) const = 0;
  /// Decodes a result of encode(). Must return float32 gradients of `shapes`, the shapes of the gradients that were
  /// encoded.
  virtual std::vector<Value> decode(Value encoded, std::span<const Shape> shapes) const = 0;
  /// Returns the sums of the gradients over all replicas, equal on all replicas. By default every replica gathers the
  /// encodings of all replicas, decodes them, and adds them in the order of the replicas.
  virtual std::vector<Value> sum(std::span<const Value> gradients, const Site& site) const;
};

/// Adds the ops that give states of a hook their next values if the flag `apply_if`, a float32 scalar, is above 0.
void set_states(const GradientHook::NextStates& states, Value apply_if);

/// Sends gradients as 16-bit floats. In Mirrored strategies the replicas also sum the gradients in 16 bits.
class HalfPrecision final : public GradientHook {
 public:
  /// float16 has 11 bits of precision; numbers above 65,504 become infinite. bfloat16 has 8 bits and the range of
  /// float32. Throws Error for any other dtype.
  explicit HalfPrecision(DType dtype = DType::bfloat16);

  Value encode(std::span<const Value> gradients, const Site& site) const override;
  std::vector<Value> decode(Value encoded, std::span<const Shape> shapes) const override;
  std::vector<Value> sum(std::span<const Value> gradients, const Site& site) const override;

 private:
  DType dtype_;
};

/// Sends the elements of the gradients with the largest magnitude, and adds the elements that are not sent to the
/// gradients of the next step (error feedback). Source: S. Stich et al., Sparsified SGD with memory, NeurIPS 2018.
class TopKGradients final : public GradientHook {
 public:
  /// `share` is the part of the elements of each bucket, or of each worker's block of gradients, that is sent; at least
  /// one element is sent. Throws Error unless `share` is in (0, 1].
  explicit TopKGradients(double share);

  Value encode(std::span<const Value> gradients, const Site& site) const override;
  std::vector<Value> decode(Value encoded, std::span<const Shape> shapes) const override;

 private:
  double share_;
};

/// Sends each gradient, as a matrix, in the form of two thin factors, computed by one step of power iteration from the
/// right factor of the previous step, and adds the difference between the matrix and the product of its factors to the
/// gradient of the next step. The last axis of a gradient has the columns of the matrix, all other axes together the
/// rows. A gradient that would not become smaller is sent unchanged. sum() computes factors of the summed gradients;
/// encode(), which workers of servers use, computes factors of one worker's gradients. Source: T. Vogels et al.,
/// PowerSGD: practical low-rank gradient compression for distributed optimization, NeurIPS 2019.
class PowerSgd final : public GradientHook {
 public:
  /// The factors have `rank` columns. Throws Error if `rank` is below 1.
  explicit PowerSgd(std::int64_t rank);

  Value encode(std::span<const Value> gradients, const Site& site) const override;
  std::vector<Value> decode(Value encoded, std::span<const Shape> shapes) const override;
  std::vector<Value> sum(std::span<const Value> gradients, const Site& site) const override;

 private:
  std::int64_t rank_;
};

/// Returns the hook that a text names: `none` (null), `float16`, `bfloat16`, `top_k:SHARE` or `power_sgd:RANK`. Throws
/// Error for any other text.
std::shared_ptr<const GradientHook> gradient_hook_of(std::string_view text);

}  // namespace troupe
