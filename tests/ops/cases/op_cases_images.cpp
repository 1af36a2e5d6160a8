#include <array>

#include "troupe/ops/library/conv2d.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/pool.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/tests/ops/cases/op_cases.hpp"

namespace troupe::ops_test {

namespace {

struct ConvShape {
  std::int64_t height, width, channels, kernel_height, kernel_width, filters, stride, padding;
};

std::string text_of(const ConvShape& s) {
  return to_string(Shape{kBatch, s.height, s.width, s.channels}) + " with " +
         to_string(Shape{s.kernel_height, s.kernel_width, s.channels, s.filters}) + " stride " +
         std::to_string(s.stride) + " padding " + std::to_string(s.padding);
}

Values convolve(const Values& x, const Conv2dOptions& options) {
  return {x.size() == 3 ? conv2d(x[0], x[1], x[2], options) : conv2d(x[0], x[1], options)};
}

std::vector<CaseInput> conv_inputs(const ConvShape& s, bool bias, Draw draw, Draw bias_draw) {
  std::vector<CaseInput> inputs{{{kBatch, s.height, s.width, s.channels}, draw},
                                {{s.kernel_height, s.kernel_width, s.channels, s.filters}, draw}};
  if (bias) inputs.push_back({{s.filters}, bias_draw});
  return inputs;
}

OpCase conv_case(const ConvShape& s, bool bias) {
  const Conv2dOptions options{s.stride, s.padding};
  return {"conv2d " + text_of(s) + (bias ? " and bias" : ""), conv_inputs(s, bias, Draw::uniform, Draw::uniform),
          [options](const Values& x) { return convolve(x, options); }, reference::conv2d(s.stride, s.padding, false)};
}

OpCase conv_relu_case(const ConvShape& s, bool bias) {
  const Conv2dOptions options{s.stride, s.padding};
  return {"conv2d and relu in one " + text_of(s) + (bias ? " and bias" : ""),
          conv_inputs(s, bias, Draw::eighths, Draw::off_grid),
          [options](const Values& x) { return Values{relu(convolve(x, options)[0])}; },
          reference::conv2d(s.stride, s.padding, true),
          1e-5,
          fuse_bias_and_activation,
          bias};
}

/// The operands are views without alignment, while libraries of convolutions need aligned operands.
OpCase conv_of_views_case() {
  const auto forward = [](const Arrays& in) {
    const auto x = reference::view_at(1, {3, 5, 4, 8}).forward({in[0]})[0];
    const auto bias = reference::view_at(3, {16}).forward({in[2]})[0];
    return reference::conv2d(1, 1, true).forward({x, in[1], bias});
  };
  return {"conv2d and relu of views that are not aligned",
          {{{481}, Draw::eighths, false}, {{3, 3, 8, 16}, Draw::eighths, false}, {{19}, Draw::off_grid, false}},
          [](const Values& in) {
            return Values{relu(conv2d(view_at(in[0], 1, {3, 5, 4, 8}), in[1], view_at(in[2], 3, {16}), {1, 1}))};
          },
          {forward, nullptr},
          1e-5,
          fuse_bias_and_activation};
}

OpCase group_case(std::int64_t groups, const ConvShape& s, bool bias) {
  auto inputs = conv_inputs(s, bias, Draw::uniform, Draw::uniform);
  inputs[1].shape = {s.kernel_height, s.kernel_width, s.channels / groups, s.filters};
  const Conv2dOptions options{s.stride, s.padding, groups};
  return {"conv2d in " + std::to_string(groups) + " groups " + text_of(s) + (bias ? " and bias" : ""), inputs,
          [options](const Values& x) { return convolve(x, options); },
          reference::conv2d(s.stride, s.padding, false, groups)};
}

/// The reference of average_pool: the mean over the elements of each window that lie in the image [B, H, W, C].
struct AverageReference {
  AveragePoolOptions options;

  Array zero_result(const Sizes& x) const {
    const auto size = [&](std::int64_t length) {
      return (length + 2 * options.padding - options.kernel_size) / options.stride + 1;
    };
    return Array({x[0], size(x[1]), size(x[2]), x[3]});
  }

  /// The numbers of the elements of images of sizes `x` in the window of element i of a result of sizes `y`.
  std::vector<std::size_t> window(const Sizes& x, const Sizes& y, std::int64_t i) const {
    const auto at = index_of(y, i);
    std::vector<std::size_t> elements;
    for (std::int64_t place = 0; place < options.kernel_size * options.kernel_size; ++place) {
      const auto row = at[1] * options.stride - options.padding + place / options.kernel_size;
      const auto column = at[2] * options.stride - options.padding + place % options.kernel_size;
      if (row < 0 || row >= x[1] || column < 0 || column >= x[2]) continue;
      elements.push_back(static_cast<std::size_t>(flat_of(x, std::array{at[0], row, column, at[3]})));
    }
    return elements;
  }

  Arrays forward(const Arrays& in) const {
    auto y = zero_result(in[0].sizes);
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      const auto elements = window(in[0].sizes, y.sizes, i);
      for (const auto element : elements)
        y.data[static_cast<std::size_t>(i)] += in[0].data[element] / static_cast<double>(elements.size());
    }
    return {y};
  }

  Arrays backward(const Arrays& in, const Array& dy) const {
    Array dx(in[0].sizes);
    for (std::int64_t i = 0; i < dy.elements(); ++i) {
      const auto elements = window(dx.sizes, dy.sizes, i);
      for (const auto element : elements)
        dx.data[element] += dy.data[static_cast<std::size_t>(i)] / static_cast<double>(elements.size());
    }
    return {dx};
  }
};

OpCase average_case(const Shape& image, const AveragePoolOptions& options) {
  const AverageReference reference{options};
  return {"average_pool " + to_string(image) + " kernel " + std::to_string(options.kernel_size) + " stride " +
              std::to_string(options.stride) + " padding " + std::to_string(options.padding),
          {{image}},
          [options](const Values& x) { return Values{average_pool(x[0], options)}; },
          {[reference](const Arrays& in) { return reference.forward(in); },
           [reference](const Arrays& in, const Array& dy) { return reference.backward(in, dy); }}};
}

std::vector<ConvShape> conv_shapes() {
  return {
      {5, 4, 1, 3, 3, 1, 1, 0},   {5, 4, 1, 3, 3, 16, 1, 1}, {6, 7, 3, 3, 3, 16, 2, 1},  {6, 7, 3, 5, 5, 3, 1, 2},
      {4, 6, 16, 1, 1, 32, 1, 0}, {5, 3, 16, 1, 1, 3, 2, 0}, {4, 4, 3, 1, 1, 16, 1, 2},  {7, 5, 16, 3, 3, 32, 1, 1},
      {6, 5, 32, 3, 3, 16, 2, 0}, {6, 6, 1, 5, 5, 32, 2, 2}, {5, 5, 16, 5, 5, 16, 1, 0}, {1, 1, 3, 1, 1, 1, 1, 0},
      {3, 9, 1, 1, 5, 16, 1, 2},  {9, 3, 3, 5, 1, 1, 2, 2},  {8, 8, 32, 3, 3, 1, 1, 1},  {2, 2, 16, 3, 3, 16, 3, 1},
  };
}

OpCase pool_case(const Shape& image, const MaxPoolOptions& options, Draw draw = Draw::distinct) {
  return {"max_pool " + to_string(image) + " kernel " + std::to_string(options.kernel_size) + " stride " +
              std::to_string(options.stride) + " padding " + std::to_string(options.padding) +
              (draw == Draw::distinct ? "" : " with equals"),
          {{image, draw}},
          [options](const Values& x) { return Values{max_pool(x[0], options)}; },
          reference::max_pool(options.kernel_size, options.stride, options.padding),
          1e-5,
          nullptr,
          draw == Draw::distinct};
}

}  // namespace

std::vector<OpCase> conv_cases() {
  std::vector<OpCase> cases;
  for (const auto& shape : conv_shapes())
    for (const bool bias : {false, true}) cases.push_back(conv_case(shape, bias));
  for (const bool bias : {false, true}) {
    cases.push_back(conv_relu_case({6, 7, 3, 3, 3, 16, 1, 1}, bias));
    cases.push_back(conv_relu_case({5, 5, 16, 3, 3, 32, 2, 0}, bias));
    cases.push_back(conv_relu_case({5, 6, 1, 5, 5, 3, 1, 2}, bias));
  }
  for (const bool bias : {false, true}) {
    cases.push_back(group_case(4, {5, 4, 8, 3, 3, 4, 1, 1}, bias));
    cases.push_back(group_case(2, {6, 5, 6, 3, 2, 10, 2, 0}, bias));
    cases.push_back(group_case(16, {5, 5, 16, 3, 3, 16, 1, 1}, bias));  // depthwise
    cases.push_back(group_case(3, {4, 5, 3, 3, 3, 6, 1, 1}, bias));     // depthwise, two results each
  }
  // By Winograd's algorithm.
  for (const auto& shape :
       {ConvShape{9, 7, 16, 3, 3, 32, 1, 1}, ConvShape{8, 10, 48, 3, 3, 16, 1, 0}, ConvShape{7, 6, 32, 3, 3, 48, 1, 2}})
    for (const bool bias : {false, true}) cases.push_back(conv_case(shape, bias));
  cases.push_back(conv_relu_case({7, 9, 16, 3, 3, 16, 1, 1}, true));
  cases.push_back(conv_relu_case({4, 5, 3, 3, 3, 16, 1, 1}, true));
  cases.back().name = "conv2d, add and relu in one";
  cases.back().build = [](const Values& x) {
    return Values{relu(add(conv2d(x[0], x[1], {.stride = 1, .padding = 1}), x[2]))};
  };
  cases.push_back(conv_of_views_case());
  return cases;
}

std::vector<OpCase> pool_cases() {
  std::vector<OpCase> cases;
  for (const auto& image : {Shape{kBatch, 5, 7, 3}, Shape{kBatch, 4, 4, 16}})
    for (const std::int64_t kernel_size : {1, 2, 3})
      for (const std::int64_t stride : {1, 2})
        for (const std::int64_t padding : {0, 1})
          if (padding < kernel_size) cases.push_back(average_case(image, {kernel_size, stride, padding}));
  for (const auto& image : {Shape{kBatch, 5, 7, 1}, Shape{kBatch, 6, 4, 3}, Shape{kBatch, 7, 8, 16}})
    for (const std::int64_t kernel_size : {2, 3})
      for (const std::int64_t stride : {1, 2, 3})
        for (const std::int64_t padding : {0, 1}) cases.push_back(pool_case(image, {kernel_size, stride, padding}));
  cases.push_back(pool_case({kBatch, 2, 2, 5}, {2, 2, 0}));
  cases.push_back(pool_case({kBatch, 1, 1, 3}, {1, 1, 0}));
  cases.push_back(pool_case({kBatch, 1, 1, 3}, {2, 1, 1}));
  cases.push_back(pool_case({2, 17, 16, 2}, {15, 2, 7}));
  for (const std::int64_t channels : {1, 3, 16, 32})
    for (const std::int64_t stride : {1, 2})
      cases.push_back(pool_case({kBatch, 6, 5, channels}, {3, stride, 1}, Draw::eighths));
  cases.push_back(forward_case(
      "max_pool of a view that is not aligned", {{{481}, Draw::distinct, false}},
      [](const Values& x) {
        return Values{max_pool(view_at(x[0], 1, {3, 5, 4, 8}), {2, 2, 0})};
      },
      [](const Arrays& in) {
        return reference::max_pool(2, 2, 0).forward(reference::view_at(1, {3, 5, 4, 8}).forward(in));
      }));
  return cases;
}

}  // namespace troupe::ops_test
