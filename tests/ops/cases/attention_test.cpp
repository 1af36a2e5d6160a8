#include "troupe/ops/library/attention.hpp"

#include <limits>
#include <optional>

#include "troupe/ops/graph/program.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/passes/gradient.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/gpu.hpp"

namespace troupe::ops_test {

namespace {

constexpr std::int64_t kPlaces = 5, kHeads = 2, kWidth = 4;
constexpr std::size_t kElements = kPlaces * kWidth;

std::vector<float> numbers_of(float first, std::optional<float> at_last_place = {}) {
  std::vector<float> numbers;
  for (std::size_t i = 0; i < kElements; ++i)
    numbers.push_back(at_last_place && i >= kElements - kWidth ? *at_last_place
                                                               : first + 0.25F * static_cast<float>(i * 7 % 5));
  return numbers;
}

/// The result of an attention of one sequence, and the gradients of its sum by queries, keys and values. No query but
/// the last attends to the last key: by causality, or by a mask, which hides the key from all queries.
std::vector<std::vector<float>> attention_on(Device device, bool causal, float in_keys, float in_values) {
  const Shape shape{1, kPlaces, kWidth};
  GraphBuilder builder;
  const auto q = builder.input("q", shape), k = builder.input("k", shape), v = builder.input("v", shape);
  const auto mask = builder.input("mask", {kPlaces, kPlaces}, DType::uint8);
  const AttentionOptions options{kHeads, causal};
  const auto y = causal ? attention(q, k, v, options) : attention(q, k, v, mask, options);
  // The result of the last query is left out.
  const auto counted = mul(y, builder.input("counts", {1, kPlaces, 1}));
  const auto gradient_of = gradients(reduce_sum(counted, {0, 1, 2}), std::vector{q, k, v});
  builder.output("y", counted);
  for (std::size_t i = 0; i < 3; ++i) builder.output("gradient" + std::to_string(i), gradient_of[i]);
  Program program(std::move(builder).build(), 1, device);
  std::vector<std::uint8_t> seen(kPlaces * kPlaces, 1);
  for (std::size_t i = 0; i < kPlaces; ++i) seen[i * kPlaces + kPlaces - 1] = 0;
  program.bind("q", Tensor::from<float>(shape, numbers_of(-0.5F)).to(device));
  program.bind("k", Tensor::from<float>(shape, numbers_of(0.25F, in_keys)).to(device));
  program.bind("v", Tensor::from<float>(shape, numbers_of(-1.0F, in_values)).to(device));
  if (!causal) program.bind("mask", Tensor::from<std::uint8_t>({kPlaces, kPlaces}, seen).to(device));
  program.bind("counts", Tensor::from<float>({1, kPlaces, 1}, {1.0F, 1.0F, 1.0F, 1.0F, 0.0F}).to(device));
  program.run();
  std::vector<std::vector<float>> results;
  for (const auto* name : {"y", "gradient0", "gradient1", "gradient2"}) {
    const auto result = program.output(name).copy_to_host();
    results.emplace_back(result.data<float>().begin(), result.data<float>().end());
  }
  return results;
}

void check_hidden_places(Device device) {
  constexpr auto kInfinity = std::numeric_limits<float>::infinity();
  constexpr auto kNan = std::numeric_limits<float>::quiet_NaN();
  const auto expected = attention_on(device, false, 0.5F, 0.5F);
  for (const auto number : {kInfinity, -kInfinity, kNan}) {
    CAPTURE(number);
    for (const auto in_keys : {0.5F, number}) {
      const auto results = attention_on(device, false, in_keys, number);
      for (std::size_t k = 0; k < expected.size(); ++k)
        for (std::size_t i = 0; i < kElements; ++i) CHECK(results[k][i] == Approx(expected[k][i]).margin(1e-6));
    }
  }
}

/// The queries before the last one do not see an infinite value at the last place.
void check_causal_places(Device device) {
  const auto expected = attention_on(device, true, 0.5F, 0.5F).front();
  const auto y = attention_on(device, true, 0.5F, std::numeric_limits<float>::infinity()).front();
  for (std::size_t i = 0; i < kElements - kWidth; ++i) CHECK(y[i] == Approx(expected[i]).margin(1e-6));
}

}  // namespace

TEST_CASE("infinite or NaN keys and values of hidden places change no result of an attention", "[ops]") {
  check_hidden_places(Device{});
  check_causal_places(Device{});
}

TEST_CASE("infinite or NaN keys and values of hidden places change no attention on a GPU", "[.gpu]") {
  if (const auto device = testing::gpu()) {
    check_hidden_places(*device);
    check_causal_places(*device);
  }
}

}  // namespace troupe::ops_test
