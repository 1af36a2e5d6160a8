#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "troupe/ops/graph/program.hpp"

namespace troupe {

/// The parameters of one shard and the program that updates them in place. Parameters travel in one flat block. A block
/// of gradients begins with the scalar loss_is_finite, 0 or negative; see ReplicaGradients. pack_offsets() gives the
/// offset of each value in a block.
class ShardUpdate {
 public:
  /// The graph's input for the sum of the gradient blocks. Its other input is the batch info.
  static constexpr const char* kGradients = "gradients";
  /// Input and output of the graph that decodes gradients, where they travel in another form.
  static constexpr const char *kSent = "sent", *kBlock = "block";

  /// `order` names the parameters of a block. The graph may update others, such as optimizer state.
  ShardUpdate(Graph update, const std::vector<std::string>& order);

  /// A value that the graph updates.
  struct Stored {
    std::string name;
    TensorInfo info;
    bool travels = false;  ///< in blocks
  };
  /// All values that the graph updates: bind() needs a tensor for each.
  const std::vector<Stored>& stored() const { return stored_; }
  /// Sets the tensors of the values, in the order of stored(). To be called once.
  void bind(std::span<const Tensor> tensors);
  bool is_bound() const { return !tensors_.empty(); }

  TensorInfo parameter_block() const { return {Shape{parameter_offsets_.back()}, DType::float32}; }
  TensorInfo gradient_block() const { return {Shape{gradient_offsets_.back()}, DType::float32}; }

  /// Copies the parameters into a block.
  void pack(const Tensor& block) const;
  /// Copies the parameters from a block.
  void unpack(const Tensor& block) const;
  /// The way from the parameters back to those of an older block, as a block of gradients that `rows` rows have made.
  Tensor change_since(const Tensor& parameters_then, std::int64_t rows) const;
  /// The rows in a block from change_since().
  static std::int64_t rows_of_change(const Tensor& gradients);
  /// Sets the gradients of the next update: those that `rows` of the `global_rows` rows of a batch make, scaled to the
  /// gradients of the mean loss of these rows.
  void take_part(const Tensor& gradients, std::int64_t rows, std::int64_t global_rows);
  /// Moves every parameter by `share` of the way to its value in a block.
  void move_towards(const Tensor& block, float share) const;
  /// The block of gradients that the next update applies.
  const Tensor& gradients() const { return gradients_; }
  /// Corrects gradients(), computed from the parameters in a block, as ConsistencyRule::compensation says.
  void compensate(const Tensor& parameters_then, float factor) const;
  /// Applies gradients(), as the update of this number.
  void apply(std::int64_t number);
  /// Applies another block, without a copy.
  void apply(const Tensor& gradients, std::int64_t number);

 private:
  /// Calls `visit` for each parameter of a block, with its elements here, its elements in the block, and the offset of
  /// its gradient in a block of gradients.
  template <class Visit>
  void for_each(const Tensor& block, Visit visit) const;

  std::vector<Stored> stored_;
  std::vector<std::size_t> order_;  // indices in stored_, in the order of the block
  std::vector<std::int64_t> parameter_offsets_, gradient_offsets_;
  Tensor gradients_, batch_info_;
  std::vector<Tensor> tensors_;
  Program program_;
};

/// Copies of the parameters of a shard, one for each version that workers still read. Their memory is reused.
class ParameterBlocks {
 public:
  using Block = std::shared_ptr<const Tensor>;

  /// A copy of the current parameters.
  Block now(const ShardUpdate& parameters);
  /// The parameters have changed: the next now() makes another copy.
  void changed() { now_ = nullptr; }
  /// The block is read until that slot is free.
  void sent(std::uint32_t output, std::uint32_t slot, Block block) { sent_[{output, slot}] = std::move(block); }
  void freed(std::uint32_t output, std::uint32_t slot) { sent_.erase({output, slot}); }

 private:
  std::vector<std::shared_ptr<Tensor>> blocks_;  // a block is free if this is its only handle
  std::map<std::pair<std::uint32_t, std::uint32_t>, Block> sent_;
  Block now_;
};

/// A hash of the ops, attributes and parameters of an update, for the attributes of a plan's actor.
std::int64_t identity_of_update(const Graph& update);

}  // namespace troupe
