#pragma once

#include <span>
#include <string>
#include <vector>

#include "troupe/ops/graph/program.hpp"

namespace troupe {

/// The parameters of one shard, and the program that updates them in place. Parameters travel in a flat block,
/// gradients in one that begins with the verdict on the loss: each at the offset that pack_offsets() gives.
class ShardUpdate {
 public:
  /// The input of the graph with the sum of the gradient blocks. Its other input is the batch info.
  static constexpr const char* kGradients = "gradients";
  /// Where blocks of gradients travel in another form: the input and the output of the graph that undoes that.
  static constexpr const char *kSent = "sent", *kBlock = "block";

  /// `order` are the parameters of a block; the graph may have others, such as optimizer state.
  ShardUpdate(Graph update, const std::vector<std::string>& order);

  /// Everything that the graph updates: what bind() needs.
  struct Stored {
    std::string name;
    TensorInfo info;
    bool travels = false;  ///< in blocks
  };
  const std::vector<Stored>& stored() const { return stored_; }
  /// Where that lies, in the order of stored(). Once.
  void bind(std::span<const Tensor> tensors);
  bool is_bound() const { return !tensors_.empty(); }

  TensorInfo parameter_block() const { return {Shape{parameter_offsets_.back()}, DType::float32}; }
  TensorInfo gradient_block() const { return {Shape{gradient_offsets_.back()}, DType::float32}; }

  /// Copies the parameters into a block, or from one.
  void pack(const Tensor& block) const;
  void unpack(const Tensor& block) const;
  /// What leads from the parameters to those of an older block, as gradients that so many rows have made.
  Tensor change_since(const Tensor& parameters_then, std::int64_t rows) const;
  /// The rows that gradients of that kind say.
  static std::int64_t rows_of_change(const Tensor& gradients);
  /// The next update applies these: of a batch of `global_rows` rows the gradients that `rows` of them make become
  /// those of the mean loss of the latter.
  void take_part(const Tensor& gradients, std::int64_t rows, std::int64_t global_rows);
  /// Moves every parameter by `share` of the way to those of a block.
  void move_towards(const Tensor& block, float share) const;
  /// The block of gradients that the next update applies.
  const Tensor& gradients() const { return gradients_; }
  /// Changes it as ConsistencyRule::compensation says, if it was computed from the parameters of that block.
  void compensate(const Tensor& parameters_then, float factor) const;
  /// Makes the update with this number, of gradients().
  void apply(std::int64_t number);
  /// The same of another block, without a copy.
  void apply(const Tensor& gradients, std::int64_t number);

 private:
  std::vector<Stored> stored_;
  std::vector<std::size_t> order_;  // of the block: indices in stored_
  std::vector<std::int64_t> sizes_, parameter_offsets_, gradient_offsets_;
  Tensor gradients_, batch_info_;
  std::vector<Tensor> tensors_;
  Program program_;
};

}  // namespace troupe
