#include "troupe/ops/library/pool.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/cases/case_runner.hpp"

namespace troupe::ops_test {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

OpCase pooling(const Shape& image, const MaxPoolOptions& options, bool with_relu) {
  OpCase pooling{"max_pool",
                 {{image, Draw::eighths}},
                 [=](const Values& x) { return Values{max_pool(with_relu ? relu(x[0]) : x[0], options)}; },
                 reference::max_pool(options.kernel_size, options.stride, options.padding)};
  pooling.pass = fuse_pool_and_relu;
  return pooling;
}

/// Images with many equal elements, some NaNs and infinities.
Array draw_image(const OpCase& op_case, std::int64_t rows) {
  auto x = draw_inputs(op_case, rows)[0];
  for (std::size_t i = 3; i < x.data.size(); i += 11) x.data[i] = kNaN;
  for (std::size_t i = 5; i < x.data.size(); i += 17) x.data[i] = i % 2 == 0 ? kInfinity : -kInfinity;
  return x;
}

bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

void check_same(const Array& got, const Array& want) {
  CHECK(got.sizes == want.sizes);
  CHECK(std::ranges::equal(got.data, want.data, same));
}

void check_pooling(const Shape& image, const MaxPoolOptions& options, bool with_relu) {
  INFO(to_string(image) << " kernel " << options.kernel_size << " stride " << options.stride << " padding "
                        << options.padding << (with_relu ? " with relu" : ""));
  constexpr std::int64_t kRows = 2;
  const auto op_case = pooling(image, options, with_relu);
  const auto x = draw_image(op_case, kRows);
  auto y = op_case.reference.forward({x})[0];
  auto dy = draw_inputs({"", {{Shape(y.sizes), Draw::eighths}}}, 0)[0];
  const auto got = run_case(case_gradient_graph(op_case), "", {x}, dy, kRows).outputs();
  if (with_relu)
    for (std::size_t i = 0; i < y.data.size(); ++i) {
      if (!(y.data[i] > 0.0)) dy.data[i] = 0.0;
      if (y.data[i] < 0.0) y.data[i] = 0.0;
    }
  check_same(got[0], y);
  check_same(got[1], op_case.reference.backward({x}, dy)[0]);
}

}  // namespace

TEST_CASE("NaNs, infinities and ties are pooled like the reference for all sizes and channels", "[max_pool]") {
  for (const std::int64_t channels : {1, 2, 15, 16, 17, 31, 32, 50})
    for (const auto& options :
         {MaxPoolOptions{2, 2, 0}, MaxPoolOptions{2, 2, 1}, MaxPoolOptions{3, 1, 1}, MaxPoolOptions{3, 2, 0},
          MaxPoolOptions{2, 3, 1}, MaxPoolOptions{1, 2, 0}, MaxPoolOptions{4, 4, 3}})
      for (const auto& image : {Shape{kBatch, 7, 5, channels}, Shape{kBatch, 4, 6, channels}})
        for (const bool with_relu : {false, true}) check_pooling(image, options, with_relu);
}

TEST_CASE("a window that holds NaNs gives NaN, and its gradient goes to the first one", "[max_pool]") {
  for (const std::int64_t channels : {1, 16}) {
    const auto op_case = pooling({kBatch, 2, 2, channels}, {}, false);
    Array x({1, 2, 2, channels}), dy({1, 1, 1, channels});
    std::fill(dy.data.begin(), dy.data.end(), 3.0);
    const std::array window{5.0, kNaN, kInfinity, kNaN};
    for (std::size_t i = 0; i < x.data.size(); ++i) x.data[i] = window[i / static_cast<std::size_t>(channels)];
    const auto got = run_case(case_gradient_graph(op_case), "", {x}, dy, 1).outputs();
    for (const auto y : got[0].data) CHECK(std::isnan(y));
    for (std::size_t i = 0; i < x.data.size(); ++i)
      CHECK(got[1].data[i] == (i / static_cast<std::size_t>(channels) == 1 ? 3.0 : 0.0));
  }
}

TEST_CASE("equal elements: the gradient goes to the first", "[max_pool]") {
  const auto op_case = pooling({kBatch, 4, 4, 17}, {.kernel_size = 4, .stride = 4}, false);
  Array x({1, 4, 4, 17}), dy({1, 1, 1, 17});
  std::fill(dy.data.begin(), dy.data.end(), 1.0);
  for (std::size_t i = 6 * 17; i < x.data.size(); ++i) x.data[i] = 2.0;
  const auto got = run_case(case_gradient_graph(op_case), "", {x}, dy, 1).outputs();
  for (std::size_t i = 0; i < x.data.size(); ++i) CHECK(got[1].data[i] == (i / 17 == 6 ? 1.0 : 0.0));
}

}  // namespace troupe::ops_test
