#include <cmath>

#include "troupe/ops/library/batch_norm.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/norm.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/library/slice.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/tests/ops/cases/op_cases.hpp"

namespace troupe::ops_test {

namespace {

constexpr double kEpsilon = 1e-5;

/// The reference of layer_norm or, without a shift as third input, of rms_norm.
Arrays norm_reference(const Arrays& in) {
  auto y = in[0];
  const auto width = static_cast<std::size_t>(y.sizes.back());
  for (std::size_t row = 0; row < y.data.size(); row += width) {
    double mean = 0.0, squares = 0.0;
    if (in.size() == 3)
      for (std::size_t i = 0; i < width; ++i) mean += y.data[row + i] / static_cast<double>(width);
    for (std::size_t i = 0; i < width; ++i)
      squares += (y.data[row + i] - mean) * (y.data[row + i] - mean) / static_cast<double>(width);
    for (std::size_t i = 0; i < width; ++i)
      y.data[row + i] = (y.data[row + i] - mean) / std::sqrt(squares + kEpsilon) * in[1].data[i] +
                        (in.size() == 3 ? in[2].data[i] : 0.0);
  }
  return {y};
}

OpCase layer_norm_case(const Shape& shape) {
  const Shape channels{shape.back(0)};
  return forward_case(
      "layer_norm " + to_string(shape), {{shape}, {channels}, {channels}},
      [](const Values& x) { return Values{layer_norm(x[0], x[1], x[2], kEpsilon)}; }, norm_reference);
}

OpCase rms_norm_case(const Shape& shape) {
  return forward_case(
      "rms_norm " + to_string(shape), {{shape, Draw::away_from_zero}, {{shape.back(0)}}},
      [](const Values& x) { return Values{rms_norm(x[0], x[1], kEpsilon)}; }, norm_reference);
}

struct Moments {
  std::vector<double> mean, variance;
};

/// The moments of the whole batch, x and `others`, the rows of another replica.
Moments moments_of(const Array& x, const Array& others) {
  const auto channels = static_cast<std::size_t>(x.sizes.back());
  auto elements = x.data;
  elements.insert(elements.end(), others.data.begin(), others.data.end());
  const auto count = static_cast<double>(elements.size() / channels);
  Moments moments{std::vector<double>(channels), std::vector<double>(channels)};
  for (std::size_t i = 0; i < elements.size(); ++i) moments.mean[i % channels] += elements[i] / count;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const auto distance = elements[i] - moments.mean[i % channels];
    moments.variance[i % channels] += distance * distance / count;
  }
  return moments;
}

// Inputs: x, scale, shift, the rows of another replica, and optionally a residual.
Arrays batch_norm_reference(const Arrays& in, bool relu) {
  auto y = in[0];
  if (y.data.empty()) return {y};
  const auto moments = moments_of(y, in[3]);
  const auto channels = moments.mean.size();
  for (std::size_t i = 0; i < y.data.size(); ++i) {
    const auto c = i % channels;
    y.data[i] =
        (y.data[i] - moments.mean[c]) / std::sqrt(moments.variance[c] + kEpsilon) * in[1].data[c] + in[2].data[c];
    if (in.size() == 5) y.data[i] += in[4].data[i];
    if (relu) y.data[i] = std::max(0.0, y.data[i]);
  }
  return {y};
}

Value normalize(const Values& x) {
  std::vector<Value> parts{replica_moments(x[0]), replica_moments(x[3])};
  for (auto& part : parts) part = reshape(part, {1, 3, part.shape()[1]});
  const auto moments = batch_moments(concat(parts, 0));
  return batch_norm(x[0], moments, x[1], x[2], {.epsilon = kEpsilon, .all_reduced = false});
}

std::vector<CaseInput> batch_norm_inputs(const Shape& shape) {
  const Shape channels{shape.back(0)};
  return {{shape}, {channels}, {channels}, {shape, Draw::uniform, false}};
}

OpCase batch_norm_case(const Shape& shape) {
  return forward_case(
      "batch_norm " + to_string(shape), batch_norm_inputs(shape), [](const Values& x) { return Values{normalize(x)}; },
      [](const Arrays& in) { return batch_norm_reference(in, false); });
}

// Shifts far from zero decide which elements the relu cuts, so that rounding does not.
OpCase fused_case(const Shape& shape, bool residual, bool with_relu) {
  auto inputs = batch_norm_inputs(shape);
  inputs[2].draw = Draw::large;
  if (residual) inputs.push_back({shape});
  auto result = forward_case(
      "batch_norm " + to_string(shape) + (residual ? " and residual" : "") + (with_relu ? " and relu" : "") + " in one",
      inputs,
      [=](const Values& x) {
        auto y = normalize(x);
        if (residual) y = add(y, x[4]);
        return Values{with_relu ? relu(y) : y};
      },
      [=](const Arrays& in) { return batch_norm_reference(in, with_relu); });
  result.pass = fuse_batch_norm;
  return result;
}

/// Batch norm with given moments, which get no gradient.
OpCase given_moments_case(const Shape& shape) {
  const Shape channels{shape.back(0)};
  return forward_case(
      "batch_norm " + to_string(shape) + " by given moments",
      {{shape},
       {channels},
       {channels},
       batch_info(),
       {channels, Draw::uniform, false},
       {channels, Draw::near_one, false},
       {{}, Draw::near_one, false}},
      [](const Values& x) {
        return Values{batch_norm(x[0], {x[4], x[5], x[6]}, x[1], x[2], {.epsilon = kEpsilon, .of_batch = false})};
      },
      [](const Arrays& in) {
        auto y = in[0];
        const auto width = in[1].data.size();
        for (std::size_t i = 0; i < y.data.size(); ++i) {
          const auto c = i % width;
          y.data[i] = (y.data[i] - in[4].data[c]) / std::sqrt(in[5].data[c] + kEpsilon) * in[1].data[c] + in[2].data[c];
        }
        return Arrays{y};
      });
}

}  // namespace

std::vector<OpCase> norm_cases() {
  std::vector<OpCase> cases;
  for (const auto& shape : {Shape{kBatch, 7}, Shape{kBatch, 3, 16}, Shape{2, 3, 37}, Shape{kBatch, 2}}) {
    cases.push_back(layer_norm_case(shape));
    cases.push_back(rms_norm_case(shape));
  }
  for (const auto& shape : {Shape{kBatch, 5}, Shape{kBatch, 2, 3, 4}, Shape{kBatch, 3, 70}, Shape{kBatch, 1, 1, 1}}) {
    cases.push_back(batch_norm_case(shape));
    cases.push_back(given_moments_case(shape));
  }
  for (const bool residual : {false, true})
    for (const bool with_relu : {false, true}) cases.push_back(fused_case({kBatch, 2, 2, 6}, residual, with_relu));
  return cases;
}

}  // namespace troupe::ops_test
