#include "troupe/ops/nn/normalization.hpp"

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/library/batch_norm.hpp"
#include "troupe/ops/library/dropout.hpp"
#include "troupe/ops/library/norm.hpp"
#include "troupe/ops/library/reshape.hpp"

namespace troupe {

namespace {

Shape channels_of(const char* layer, Value x) {
  const auto shape = x.shape();
  if (shape.rank() < 2) throw Error(layer, "needs [..., C], not " + to_string(x.info()));
  return {shape.back(0)};
}

Value scale_parameter(Value x, const Shape& channels) {
  return x.builder().parameter("scale", channels, Initializer::constant(1.0));
}

Value shift_parameter(Value x, const Shape& channels) {
  return x.builder().parameter("shift", channels, Initializer::zeros());
}

/// Returns a running mean or variance after a step: (1 - momentum) running + momentum of_batch.
Value moved(Value running, Value of_batch, double momentum) {
  return add(scale(running, 1.0 - momentum), scale(of_batch, momentum));
}

}  // namespace

Value LayerNorm::operator()(Value x) const {
  const auto channels = channels_of("layer_norm", x);
  const auto factor = scale_parameter(x, channels);
  return layer_norm(x, factor, shift_parameter(x, channels), epsilon);
}

Value RmsNorm::operator()(Value x) const {
  return rms_norm(x, scale_parameter(x, channels_of("rms_norm", x)), epsilon);
}

Value BatchNorm::operator()(Value x) const {
  if (!(momentum >= 0.0 && momentum <= 1.0)) throw Error("batch_norm", "the momentum must be in [0, 1]");
  const auto channels = channels_of("batch_norm", x);
  auto& builder = x.builder();
  const auto factor = scale_parameter(x, channels), shift = shift_parameter(x, channels);
  const auto mean = builder.buffer("mean", channels, Initializer::zeros());
  const auto variance = builder.buffer("variance", channels, Initializer::constant(1.0));
  if (!builder.training() || (!builder.trains(factor) && !builder.trains(shift)))
    return batch_norm(x, {mean, variance, builder.constant(Tensor::scalar(1.0F))}, factor, shift,
                      {.epsilon = epsilon, .of_batch = false});
  const auto moments = batch_moments(all_gather(replica_moments(x), builder.replicas()));
  builder.next_value(mean, moved(mean, moments.mean, momentum));
  builder.next_value(variance, moved(variance, moments.variance, momentum));
  return batch_norm(x, moments, factor, shift, {.epsilon = epsilon});
}

Value Dropout::operator()(Value x) const {
  if (!(rate >= 0.0 && rate <= 0.999)) throw Error("dropout", "the rate must be in [0, 0.999]");
  auto& builder = x.builder();
  const auto stream = builder.next_random_stream();
  return builder.training() ? dropout(x, rate, builder.seed(), stream, builder.batch_info()) : x;
}

}  // namespace troupe
