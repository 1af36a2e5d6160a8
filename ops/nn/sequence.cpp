#include "troupe/ops/nn/sequence.hpp"

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/activation.hpp"
#include "troupe/ops/library/attention.hpp"
#include "troupe/ops/library/compare.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/gather.hpp"
#include "troupe/ops/library/lstm.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/library/slice.hpp"

namespace troupe {

namespace {

void expect_sequence(const char* layer, Value x) {
  if (x.shape().rank() != 3 || x.dtype() != DType::float32)
    throw Error(layer, "needs a sequence float32[B, T, C], not " + to_string(x.info()));
}

/// Throws Error unless a recurrent layer can have `units` units. The number of its gates must not overflow.
void expect_units(const char* layer, std::int64_t units) {
  constexpr std::int64_t kMostUnits = std::int64_t{1} << 40;
  if (units < 1) throw Error(layer, "needs at least one unit, not " + std::to_string(units));
  if (units > kMostUnits)
    throw Error(layer, "can have at most " + std::to_string(kMostUnits) + " units, not " + std::to_string(units));
}

Value dense(Value x, const char* name, std::int64_t units, const Initializer& initializer) {
  GraphBuilder::Scope scope(x.builder(), name);
  return Dense{.units = units, .initializer = initializer}(x);
}

/// Returns zeros float32 [B, units]. `like` gives the number of rows B, and must be float32 [B, T, N] with N >= units.
Value zero_state(Value like, std::int64_t units) {
  const auto first = reshape(slice(like, 1, 0, 1), {like.shape()[0], like.shape()[2]});
  return broadcast_to(like.builder().constant(Tensor({1, 1}, DType::float32)), slice(first, 1, 0, units));
}

/// One state of a recurrent layer, float32 [B, units]. If the graph is for training and the layer carries its state,
/// the state begins with its values at the end of the batch before, or with zeros in the rows that `begins` marks. Else
/// the state begins as zeros.
class RecurrentState {
 public:
  RecurrentState(const char* name, Value like, std::int64_t units, const CarriedState& carried) : carried_(carried) {
    auto& builder = like.builder();
    const bool carries = carried.rows > 0 && builder.training();
    if (carries) {
      buffer_ = builder.buffer(name, {carried.rows, units}, Initializer::zeros());
      first_ = builder.apply_one(kRowsOfPart, {buffer_, like, builder.batch_info()}, {{kCarriedRows, carried.rows}});
    } else {
      first_ = zero_state(like, units);
    }
    const auto zero = builder.constant(Tensor::scalar(0.0F));
    if (carries && carried.begins.valid()) first_ = where(greater(column(carried.begins), zero), zero, first_);
  }

  Value first() const { return first_; }
  /// Keeps `last`, the state after the last time step, for the next batch; does nothing if the layer carries no state.
  /// slice_rows() gives each replica the rows of its part of the batch and zeros elsewhere, so the sum over all
  /// replicas is the state of all rows.
  void keep(Value last) const {
    if (!buffer_.valid()) return;
    auto& builder = last.builder();
    builder.next_value(buffer_, all_reduce(slice_rows(last, 0, carried_.rows, builder.batch_info())));
  }

 private:
  static Value column(Value begins) {
    return begins.shape().rank() == 1 ? reshape(begins, {begins.shape()[0], 1}) : begins;
  }

  CarriedState carried_;
  Value buffer_, first_;
};

/// Computes one time step. `inputs` [B, 3 H] and linear(hidden, weights, bias) are the contributions of the input and
/// of the hidden state [B, H] to the gates, in the order reset, update, proposed. Returns the new hidden state [B, H].
Value gru_step(Value inputs, Value hidden, Value weights, Value bias) {
  const auto from_inputs = split(inputs, 1, std::int64_t{3});
  const auto from_hidden = split(linear(hidden, weights, bias), 1, std::int64_t{3});
  const auto reset = sigmoid(add(from_inputs[0], from_hidden[0]));
  const auto update = sigmoid(add(from_inputs[1], from_hidden[1]));
  const auto proposed = tanh(add(from_inputs[2], mul(reset, from_hidden[2])));
  return add(proposed, mul(update, sub(hidden, proposed)));
}

}  // namespace

Value Embedding::operator()(Value x) const {
  if (rows < 1 || units < 1) throw Error("embedding", "needs at least one row and one unit");
  auto& builder = x.builder();
  return gather(row_sparse ? builder.row_sparse_parameter("weights", {rows, units}, initializer)
                           : builder.parameter("weights", {rows, units}, initializer),
                x);
}

Value PositionEmbedding::operator()(Value x) const {
  expect_sequence("position", x);
  return add(x, x.builder().parameter("weights", {x.shape()[1], x.shape()[2]}, initializer));
}

Value MultiHeadAttention::operator()(Value x) const {
  expect_sequence("attention", x);
  const auto width = x.shape()[2];
  if (heads < 1 || width % heads != 0)
    throw Error("attention", std::to_string(width) + " values do not divide into " + std::to_string(heads) + " heads");
  const auto queries = dense(x, "queries", width, initializer);
  const auto keys = dense(x, "keys", width, initializer);
  const auto values = dense(x, "values", width, initializer);
  return dense(attention(queries, keys, values, {.heads = heads, .causal = causal}), "result", width, initializer);
}

Value Lstm::operator()(Value x) const {
  expect_sequence("lstm", x);
  expect_units("lstm", units);
  const auto gates = dense(x, "inputs", 4 * units, initializer);
  const auto weights = x.builder().parameter("weights", {units, 4 * units}, initializer);
  const RecurrentState hidden("hidden", gates, units, carried), cell("cell", gates, units, carried);
  const auto states = lstm(gates, weights, hidden.first(), cell.first());
  hidden.keep(states.last_hidden);
  cell.keep(states.last_cell);
  return states.hidden;
}

Value Gru::operator()(Value x) const {
  expect_sequence("gru", x);
  expect_units("gru", units);
  auto& builder = x.builder();
  const auto gates = dense(x, "inputs", 3 * units, initializer);
  const auto weights = builder.parameter("weights", {units, 3 * units}, initializer);
  const auto bias = builder.parameter("bias", {3 * units}, Initializer::zeros());
  const RecurrentState state("hidden", gates, units, carried);
  auto hidden = state.first();
  std::vector<Value> all;
  for (std::int64_t time = 0; time < x.shape()[1]; ++time) {
    const auto gates_now = reshape(slice(gates, 1, time, 1), {x.shape()[0], 3 * units});
    hidden = gru_step(gates_now, hidden, weights, bias);
    all.push_back(reshape(hidden, {x.shape()[0], 1, units}));
  }
  state.keep(hidden);
  return concat(all, 1);
}

}  // namespace troupe
