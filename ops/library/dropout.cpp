#include "troupe/ops/library/dropout.hpp"

#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

namespace {

std::vector<TensorInfo> infer_dropout(const OpInputs& inputs) {
  inputs.expect_count(2, 2);
  inputs.expect_float(0);
  inputs.expect_batch_info(1);
  const auto rate = inputs.attributes.number("rate");
  if (!inputs.shape(0).has_batch()) inputs.refuse("needs a value that derives from the batch");
  if (!(rate >= 0.0 && rate <= 0.999)) inputs.refuse("the rate must be in [0, 0.999]");
  const auto stream = inputs.attributes.integer("stream");
  if (stream < 0 || stream >= std::int64_t{1} << 32) inputs.refuse("the stream must be a number of 32 bits");
  return {inputs[0]};
}

// The gradient is dropout of dy with the attributes of the forward op, so it drops the same elements.
std::vector<Value> grad_dropout(const OpGradient& g) {
  return {g.builder.apply_one(kDropout, {g.dys[0], g.inputs[1]}, g.attributes), Value()};
}

}  // namespace

const OpDef kDropout{.name = "dropout", .infer = infer_dropout, .gradient = grad_dropout, .role = HalfRole::follows};

Value dropout(Value x, double rate, std::uint64_t seed, std::int64_t stream, Value batch_info) {
  return x.builder().apply_one(kDropout, {x, batch_info},
                               {{"rate", rate}, {"seed", static_cast<std::int64_t>(seed)}, {"stream", stream}});
}

}  // namespace troupe
