#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "troupe/ops/graph/program.hpp"

namespace troupe {

/// The parameters of one shard and the program that updates them in place. Parameters travel in one flat block. A block
/// of gradients begins with the magnitude, a scalar that tells whether the gradients are finite; see magnitude_of().
/// pack_offsets() gives the offset of each value in a block.
class ShardUpdate {
 public:
  /// Name of the graph's input for the block of gradients. The graph's other input is the batch info.
  static constexpr const char* kGradients = "gradients";
  /// Names in the graph that decodes gradients, if workers send them encoded: kSent is the input, a worker's encoded
  /// gradients, and kBlock is the output, the block of gradients.
  static constexpr const char *kSent = "sent", *kBlock = "block";

  /// `order` names the parameters of a block. The graph may update further values, such as optimizer state. Throws
  /// Error if the graph lacks a parameter of `order`.
  ShardUpdate(Graph update, const std::vector<std::string>& order);

  /// A value that the graph updates.
  struct Stored {
    std::string name;
    TensorInfo info;
    bool travels = false;  ///< the value is a part of parameter blocks
  };
  /// All values that the graph updates: bind() needs a tensor for each.
  const std::vector<Stored>& stored() const { return stored_; }
  /// Sets the tensors of the values, in the order of stored(). Must be called once, before any function that reads or
  /// writes the values.
  void bind(std::span<const Tensor> tensors);
  bool is_bound() const { return !tensors_.empty(); }

  TensorInfo parameter_block() const { return {Shape{parameter_offsets_.back()}, DType::float32}; }
  TensorInfo gradient_block() const { return {Shape{gradient_offsets_.back()}, DType::float32}; }

  /// Copies the parameters from the bound tensors into a block.
  void pack(const Tensor& block) const;
  /// Copies the parameters from a block into the bound tensors.
  void unpack(const Tensor& block) const;
  /// Returns a block of gradients that holds the parameters in the older block `parameters_then` minus the current
  /// ones, and `rows`, the number of batch rows that have made the change. The magnitude is 0.
  Tensor change_since(const Tensor& parameters_then, std::int64_t rows) const;
  /// The number of batch rows in a block from change_since().
  static std::int64_t rows_of_change(const Tensor& gradients);
  /// Sets gradients() from a block that `rows` of the `global_rows` rows of a batch have made. The block is already
  /// divided by `global_rows`, so it is multiplied by global_rows / rows: gradients() are those of the mean loss over
  /// the `rows` rows. A block that no rows have made is copied.
  void take_part(const Tensor& gradients, std::int64_t rows, std::int64_t global_rows);
  /// Moves every parameter by `share` of the way to its value in a block.
  void move_towards(const Tensor& block, float share) const;
  /// The block of gradients by which apply() updates the values.
  const Tensor& gradients() const { return gradients_; }
  /// Corrects gradients() by the function compensate() below. The block `parameters_then` has the parameters from which
  /// the gradients were computed.
  void compensate(const Tensor& parameters_then, float factor) const;
  /// Updates the values in place by gradients(), which `rows` batch rows have made. The graph reads `number` as the
  /// step and `rows` as the rows of its batch info.
  void apply(std::int64_t number, std::int64_t rows);
  /// Like the other apply(), with another block of gradients in place of gradients(). Does not copy the block.
  void apply(const Tensor& gradients, std::int64_t number, std::int64_t rows);
  /// Whether an update is made of the gradients of several steps.
  bool accumulates() const { return accumulated_rows_.has_value(); }
  /// The number of batch rows whose gradients have changed the parameters in the last call of apply(), which had these
  /// arguments: `rows`, or, if the update accumulates gradients, those of all its steps after the last one, and 0 after
  /// the others.
  std::int64_t rows_of_change(std::int64_t number, std::int64_t rows) const;

 private:
  /// Calls `visit` for each parameter of a block, with the parameter's elements in its bound tensor, its elements in
  /// the block, and the offset of its gradient in a block of gradients.
  template <class Visit>
  void for_each(const Tensor& block, Visit visit) const;

  std::vector<Stored> stored_;
  std::optional<std::size_t> accumulated_rows_;  // index in stored_
  std::int64_t accumulated_steps_ = 1;
  std::vector<std::size_t> order_;  // indices in stored_, in the order of the block
  std::vector<std::int64_t> parameter_offsets_, gradient_offsets_;
  Tensor gradients_, batch_info_;
  std::vector<Tensor> tensors_;
  Program program_;
};

/// Corrects `n` gradients by delay compensation with `factor`; see ConsistencyRule::compensation. `then` has the
/// parameters from which the gradients were computed, `now` those to which the gradients are applied. A gradient whose
/// compensation is not finite stays unchanged, because the shards have decided by the gradients that the update is
/// made.
void compensate(std::size_t n, float* gradient, float factor, const float* now, const float* then);

/// Copies of the parameters of a shard, one for each version that workers still read. The memory of a copy that is no
/// longer read is reused.
class ParameterBlocks {
 public:
  using Block = std::shared_ptr<const Tensor>;

  /// Returns a copy of the current parameters: the same one until changed() is called.
  Block now(const ShardUpdate& parameters);
  /// Notes that the parameters have changed, so that the next now() makes another copy.
  void changed() { now_ = nullptr; }
  /// Keeps the block from being reused until freed() is called for the output and slot over which the block was sent.
  void sent(std::uint32_t output, std::uint32_t slot, Block block) { sent_[{output, slot}] = std::move(block); }
  void freed(std::uint32_t output, std::uint32_t slot) { sent_.erase({output, slot}); }

 private:
  std::vector<std::shared_ptr<Tensor>> blocks_;  // a block can be reused if this vector has its only handle
  std::map<std::pair<std::uint32_t, std::uint32_t>, Block> sent_;
  Block now_;
};

/// Returns a hash of the ops, attributes and parameters of an update. The plan has it as an attribute of the shard's
/// actor, so that plans with different updates differ.
std::int64_t identity_of_update(const Graph& update);

}  // namespace troupe
