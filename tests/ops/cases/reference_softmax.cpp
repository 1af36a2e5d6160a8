#include <algorithm>
#include <cmath>

#include "troupe/tests/ops/cases/reference.hpp"

namespace troupe::ops_test::reference {

namespace {

/// The logarithm of the sum of exp(x) along the last axis.
Array logsumexp(const Array& x) {
  Array y(Sizes(x.sizes.begin(), x.sizes.end() - 1));
  const auto width = static_cast<std::size_t>(x.sizes.back());
  for (std::size_t row = 0; row < y.data.size(); ++row) {
    const auto* from = x.data.data() + row * width;
    const auto largest = *std::max_element(from, from + width);
    double sum = 0.0;
    for (std::size_t i = 0; i < width; ++i) sum += std::exp(from[i] - largest);
    y.data[row] = largest + std::log(sum);
  }
  return y;
}

/// x minus the logarithm of the sum of exp(x), along the last axis.
Array log_softmax(const Array& x) {
  const auto logarithms = logsumexp(x);
  const auto width = static_cast<std::size_t>(x.sizes.back());
  Array y(x.sizes);
  for (std::size_t i = 0; i < x.data.size(); ++i) y.data[i] = x.data[i] - logarithms.data[i / width];
  return y;
}

Array probabilities(const Array& x) {
  auto y = log_softmax(x);
  for (auto& element : y.data) element = std::exp(element);
  return y;
}

std::size_t label_place(const Arrays& in, std::size_t row) {
  return row * static_cast<std::size_t>(in[0].sizes[1]) + static_cast<std::size_t>(in[1].data[row]);
}

}  // namespace

Reference softmax() {
  const auto forward = [](const Arrays& in) { return Arrays{probabilities(in[0])}; };
  const auto backward = [](const Arrays& in, const Array& dy) {
    const auto y = probabilities(in[0]);
    const auto width = static_cast<std::size_t>(y.sizes.back());
    Array dx(y.sizes);
    // The derivative of y[i] by x[j] is y[i] ((i == j) - y[j]).
    for (std::size_t row = 0; row < y.data.size(); row += width)
      for (std::size_t j = 0; j < width; ++j)
        for (std::size_t i = 0; i < width; ++i)
          dx.data[row + j] += dy.data[row + i] * y.data[row + i] * ((i == j ? 1.0 : 0.0) - y.data[row + j]);
    return Arrays{dx};
  };
  return {forward, backward};
}

Reference log_softmax() {
  return {[](const Arrays& in) { return Arrays{log_softmax(in[0])}; }, nullptr};
}

Reference logsumexp() {
  const auto forward = [](const Arrays& in) { return Arrays{logsumexp(in[0])}; };
  const auto backward = [](const Arrays& in, const Array& dy) {
    auto dx = probabilities(in[0]);
    const auto width = static_cast<std::size_t>(dx.sizes.back());
    for (std::size_t i = 0; i < dx.data.size(); ++i) dx.data[i] *= dy.data[i / width];
    return Arrays{dx};
  };
  return {forward, backward};
}

Reference softmax_cross_entropy() {
  const auto forward = [](const Arrays& in) {
    const auto log_probabilities = log_softmax(in[0]);
    Array loss({in[0].sizes[0]});
    for (std::size_t row = 0; row < loss.data.size(); ++row)
      loss.data[row] = -log_probabilities.data[label_place(in, row)];
    return Arrays{loss, log_probabilities};
  };
  const auto backward = [](const Arrays& in, const Array& dy) {
    auto dx = probabilities(in[0]);
    for (std::size_t row = 0; row < dy.data.size(); ++row) dx.data[label_place(in, row)] -= 1.0;
    for (std::size_t i = 0; i < dx.data.size(); ++i) dx.data[i] *= dy.data[i / static_cast<std::size_t>(dx.sizes[1])];
    return Arrays{dx, {}};
  };
  return {forward, backward};
}

Reference count_correct() {
  const auto forward = [](const Arrays& in) {
    Array count(Sizes{});
    const auto width = static_cast<std::size_t>(in[0].sizes[1]);
    for (std::size_t row = 0; row < in[1].data.size(); ++row) {
      std::size_t best = 0;
      for (std::size_t i = 1; i < width; ++i)
        if (in[0].data[row * width + i] > in[0].data[row * width + best]) best = i;
      if (static_cast<double>(best) == in[1].data[row]) count.data[0] += 1.0;
    }
    return Arrays{count};
  };
  return {forward, nullptr};
}

}  // namespace troupe::ops_test::reference
