// PowerSgd by itself; gradient_hook_test.cpp has the tests in strategies.

#include <cmath>

#include "troupe/tests/strategies/gradient_sender.hpp"

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("a matrix of low rank is sent exactly, and what is left of others is sent later") {
  const Shape shape{12, 9};
  Tensor low(shape, DType::float32);
  const auto a = random_tensor({12, 2}, 1), b = random_tensor({2, 9}, 2);
  for (std::size_t i = 0; i < 108; ++i)
    for (std::size_t k = 0; k < 2; ++k)
      low.mutable_data<float>()[i] += a.data<float>()[i / 9 * 2 + k] * b.data<float>()[k * 9 + i % 9];
  Sender exact(PowerSgd{2}, shape);
  const auto received = elements(exact.send(low));
  for (std::size_t i = 0; i < 108; ++i) CHECK(received[i] == Approx(low.data<float>()[i]).margin(1e-5));
  CHECK(exact.sent_elements() == 2 * (12 + 9));

  Sender sender(PowerSgd{2}, shape);
  const auto gradient = random_tensor(shape, 3);
  std::vector<float> sum(108);
  constexpr int kSteps = 30;
  for (int step = 0; step < kSteps; ++step) {
    const auto step_sum = elements(sender.send(gradient));
    for (std::size_t i = 0; i < 108; ++i) sum[i] += step_sum[i];
  }
  const auto kept = sender.state("0/kept");
  double distance = 0.0, size = 0.0;
  for (std::size_t i = 0; i < 108; ++i) {
    const auto all = kSteps * gradient.data<float>()[i];
    CHECK(sum[i] + kept[i] == Approx(all).margin(1e-3));
    distance += static_cast<double>(sum[i] - all) * (sum[i] - all);
    size += static_cast<double>(all) * all;
  }
  CHECK(distance < 0.05 * size);
}

TEST_CASE("what is too small to be factored, and a vector, are sent as they are") {
  for (const auto& shape : {Shape{7}, Shape{3, 3}}) {
    Sender sender(PowerSgd{2}, shape);
    const auto gradient = random_tensor(shape, 4);
    CHECK(elements(sender.send(gradient)) == elements(gradient));
  }
}

TEST_CASE("after a gradient of zeros a matrix is sent as before") {
  Sender sender(PowerSgd{2}, {12, 9});
  sender.send(Tensor({12, 9}, DType::float32));
  const auto gradient = random_tensor({12, 9}, 3);
  const auto received = elements(sender.send(gradient));
  double size = 0.0;
  for (const auto element : received) size += std::abs(element);
  CHECK(size > 1.0);
}
