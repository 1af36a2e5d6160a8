#include "troupe/ops/cpu/winograd.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/core/random.hpp"
#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/library/conv2d.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/cases/case_runner.hpp"

namespace troupe::ops_test {

namespace {

struct ConvolutionCase {
  std::int64_t rows, size, channels, filters, padding;
};

OpCase case_of(const ConvolutionCase& c, bool direct) {
  const Conv2dOptions options{.padding = c.padding, .direct = direct};
  return {"convolution",
          {{{kBatch, c.size, c.size, c.channels}, Draw::uniform}, {{3, 3, c.channels, c.filters}, Draw::uniform}},
          [options](const Values& x) { return Values{conv2d(x[0], x[1], options)}; },
          reference::conv2d(1, c.padding, false)};
}

/// The inputs of a case, the gradient of its result, and the exact results: of the convolution, the gradient of the
/// images and that of the weights.
struct Exact {
  Arrays inputs;
  Array dy;
  Arrays results;

  explicit Exact(const ConvolutionCase& c) {
    const auto op_case = case_of(c, true);
    inputs = draw_inputs(op_case, c.rows);
    results = op_case.reference.forward(inputs);
    dy = draw_weights(results[0].sizes);
    for (auto& gradient : op_case.reference.backward(inputs, dy)) results.push_back(std::move(gradient));
  }
};

std::vector<Tensor> run(const ConvolutionCase& c, const Exact& exact, bool direct) {
  return run_case(case_gradient_graph(case_of(c, direct)), "", exact.inputs, exact.dy, c.rows).tensors;
}

/// The root of the mean square of the errors, relative to that of the exact elements.
double error_of_elements(const Tensor& got, const Array& exact) {
  double errors = 0.0, squares = 0.0;
  const auto elements = got.data<float>();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    errors += std::pow(elements[i] - exact.data[i], 2);
    squares += std::pow(exact.data[i], 2);
  }
  return std::sqrt(errors / squares);
}

bool is_chosen(std::int64_t size, std::int64_t channels, std::int64_t filters, std::int64_t kernel = 3,
               std::int64_t stride = 1, std::int64_t groups = 1) {
  const Attributes attributes{{"stride", stride}, {"padding", std::int64_t{1}}, {"groups", groups}, {"relu", false}};
  return cpu::is_winograd({{8, size, size, channels},
                           {kernel, kernel, channels / groups, filters},
                           {8, (size + 2 - kernel) / stride + 1, (size + 2 - kernel) / stride + 1, filters},
                           attributes});
}

/// The same random numbers in bfloat16 and in float32.
std::array<Tensor, 2> images_of(const Shape& shape, std::uint64_t stream) {
  std::array<Tensor, 2> images{Tensor(shape, DType::bfloat16), Tensor(shape, DType::float32)};
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    const BFloat16 number(uniform(4, stream, static_cast<std::uint64_t>(i)) - 0.5F);
    cpu::elements<BFloat16>(images[0])[i] = number;
    cpu::mutable_floats(images[1])[i] = static_cast<float>(number);
  }
  return images;
}

/// The gradient of the weights from images x and gradients dy of one dtype.
Tensor weight_gradients(const ConvolutionCase& c, const Tensor& x, const Tensor& dy) {
  const Attributes attributes{{"stride", std::int64_t{1}}, {"padding", c.padding}, {"groups", std::int64_t{1}}};
  const Tensor weights({3, 3, c.channels, c.filters}, DType::float32);
  const auto kernel = cpu::make_winograd_grad_weights({x.shape(), weights.shape(), dy.shape(), attributes}, x.dtype());
  const auto stream = backend_of(Device{}).make_stream(Device{});
  const auto scratch = backend_of(Device{}).allocate(Device{}, kernel->scratch_bytes());
  const std::vector<Tensor> inputs{x, dy}, outputs{weights};
  kernel->run({*stream, scratch.get()}, inputs, outputs);
  return weights;
}

}  // namespace

TEST_CASE("the error of Winograd's algorithm is at most ten times that of a direct convolution") {
  for (const auto& c : {ConvolutionCase{4, 28, 16, 16, 1},
                        {4, 14, 32, 32, 1},
                        {4, 7, 64, 64, 1},
                        {1, 9, 16, 32, 0},
                        {2, 6, 48, 16, 2},
                        {1, 4, 128, 128, 1}}) {
    CAPTURE(c.rows, c.size, c.channels, c.filters, c.padding);
    const Exact exact(c);
    const auto direct = run(c, exact, true), winograd = run(c, exact, false);
    for (std::size_t i = 0; i < direct.size(); ++i) {
      CAPTURE(i, error_of_elements(winograd[i], exact.results[i]), error_of_elements(direct[i], exact.results[i]));
      CHECK(error_of_elements(winograd[i], exact.results[i]) <= 10.0 * error_of_elements(direct[i], exact.results[i]));
      CHECK_FALSE(same_bits(winograd[i], direct[i]));
    }
  }
}

// The 81 tiles of the batch take two passes.
TEST_CASE("an image has the same bits in a batch and alone") {
  const ConvolutionCase batch{9, 10, 16, 32, 1}, alone{1, 10, 16, 32, 1};
  Exact exact(batch);
  const auto of_batch = run(batch, exact, false);
  exact.inputs[0].data.erase(exact.inputs[0].data.begin(), exact.inputs[0].data.end() - 10 * 10 * 16);
  exact.inputs[0].sizes[0] = 1;
  exact.dy.data.erase(exact.dy.data.begin(), exact.dy.data.end() - 10 * 10 * 32);
  exact.dy.sizes[0] = 1;
  const auto of_last = run(alone, exact, false);
  for (const std::size_t i : {0, 1}) {
    const auto bytes = of_last[i].bytes();
    CHECK(std::memcmp(of_batch[i].raw() + of_batch[i].bytes() - bytes, of_last[i].raw(), bytes) == 0);
  }
}

TEST_CASE("gradients of weights from images in bfloat16 have the bits of those from the same images in float32") {
  for (const auto& c : {ConvolutionCase{9, 10, 16, 32, 1}, {2, 7, 48, 16, 0}, {1, 6, 16, 16, 2}}) {
    CAPTURE(c.rows, c.size, c.channels, c.filters, c.padding);
    const auto size = c.size + 2 * c.padding - 2;
    const auto x = images_of({c.rows, c.size, c.size, c.channels}, 1),
               dy = images_of({c.rows, size, size, c.filters}, 2);
    const auto from_bfloat16 = weight_gradients(c, x[0], dy[0]), from_float32 = weight_gradients(c, x[1], dy[1]);
    CHECK(same_bits(from_bfloat16, from_float32));
  }
}

TEST_CASE("Winograd's algorithm computes 3x3 filters of stride 1 on images that its tiles fit") {
  CHECK(is_chosen(28, 16, 16));
  CHECK(is_chosen(7, 64, 64));
  CHECK(is_chosen(4, 256, 256));
  CHECK_FALSE(is_chosen(28, 1, 16));
  CHECK_FALSE(is_chosen(28, 16, 10));
  CHECK_FALSE(is_chosen(28, 16, 512));
  CHECK_FALSE(is_chosen(28, 16, 16, 5));
  CHECK_FALSE(is_chosen(28, 16, 16, 3, 2));
  CHECK_FALSE(is_chosen(28, 32, 32, 3, 1, 2));
  CHECK_FALSE(is_chosen(2, 16, 16));
  CHECK_FALSE(is_chosen(5, 16, 16));
}

}  // namespace troupe::ops_test
