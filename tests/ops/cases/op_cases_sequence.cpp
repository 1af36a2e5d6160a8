#include <cmath>

#include "troupe/ops/core/random.hpp"
#include "troupe/ops/library/attention.hpp"
#include "troupe/ops/library/dropout.hpp"
#include "troupe/ops/library/lstm.hpp"
#include "troupe/tests/ops/cases/op_cases.hpp"

namespace troupe::ops_test {

namespace {

struct AttentionCase {
  std::int64_t queries, keys, heads, key_size, value_size;
  bool causal = false;
  /// Number of axes of the mask; 0: no mask.
  int mask = 0;
};

bool is_allowed(const AttentionCase& c, const Arrays& in, std::int64_t row, std::int64_t i, std::int64_t j) {
  if (c.causal && j > i) return false;
  if (c.mask == 0) return true;
  return (c.mask == 2 ? in[3].at({i, j}) : in[3].at({row, i, j})) != 0.0;
}

Arrays attention_reference(const AttentionCase& c, const Arrays& in) {
  const auto rows = in[0].sizes[0];
  Array y({rows, c.queries, c.heads * c.value_size});
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t head = 0; head < c.heads; ++head)
      for (std::int64_t i = 0; i < c.queries; ++i) {
        std::vector<double> weights(static_cast<std::size_t>(c.keys), 0.0);
        double sum = 0.0;
        for (std::int64_t j = 0; j < c.keys; ++j) {
          if (!is_allowed(c, in, row, i, j)) continue;
          double score = 0.0;
          for (std::int64_t d = head * c.key_size; d < (head + 1) * c.key_size; ++d)
            score += in[0].at({row, i, d}) * in[1].at({row, j, d});
          weights[static_cast<std::size_t>(j)] = std::exp(score / std::sqrt(static_cast<double>(c.key_size)));
          sum += weights[static_cast<std::size_t>(j)];
        }
        for (std::int64_t j = 0; j < c.keys && sum > 0.0; ++j)
          for (std::int64_t d = head * c.value_size; d < (head + 1) * c.value_size; ++d)
            y.at({row, i, d}) += weights[static_cast<std::size_t>(j)] / sum * in[2].at({row, j, d});
      }
  return {y};
}

OpCase attention_case(const AttentionCase& c) {
  std::vector<CaseInput> inputs{{{kBatch, c.queries, c.heads * c.key_size}},
                                {{kBatch, c.keys, c.heads * c.key_size}},
                                {{kBatch, c.keys, c.heads * c.value_size}}};
  if (c.mask == 2) inputs.push_back({{c.queries, c.keys}, Draw::mask, false});
  if (c.mask == 3) inputs.push_back({{kBatch, c.queries, c.keys}, Draw::mask, false});
  const AttentionOptions options{c.heads, c.causal};
  return forward_case(
      "attention of " + std::to_string(c.queries) + " and " + std::to_string(c.keys) + ", " + std::to_string(c.heads) +
          " heads of " + std::to_string(c.key_size) + " and " + std::to_string(c.value_size) +
          (c.causal ? " causal" : "") + " mask of " + std::to_string(c.mask) + " axes",
      inputs,
      [options](const Values& x) {
        return Values{x.size() == 4 ? attention(x[0], x[1], x[2], x[3], options)
                                    : attention(x[0], x[1], x[2], options)};
      },
      [c](const Arrays& in) { return attention_reference(c, in); });
}

/// Adds the gradients of queries, keys and values of one head of one row of a causal attention.
void add_causal_gradients(const AttentionCase& c, const Arrays& in, const Array& dy, std::int64_t row,
                          std::int64_t head, Arrays& gradients) {
  const auto factor = 1.0 / std::sqrt(static_cast<double>(c.key_size));
  const auto dot = [&](const Array& x, std::int64_t i, const Array& y, std::int64_t j, std::int64_t size) {
    double sum = 0.0;
    for (std::int64_t d = head * size; d < (head + 1) * size; ++d) sum += x.at({row, i, d}) * y.at({row, j, d});
    return sum;
  };
  for (std::int64_t i = 0; i < c.queries; ++i) {
    std::vector<double> p(static_cast<std::size_t>(i + 1)), dp(p.size());
    double sum = 0.0, along = 0.0;
    for (std::int64_t j = 0; j <= i; ++j)
      sum += p[static_cast<std::size_t>(j)] = std::exp(factor * dot(in[0], i, in[1], j, c.key_size));
    for (std::int64_t j = 0; j <= i; ++j) {
      const auto at = static_cast<std::size_t>(j);
      p[at] /= sum;
      dp[at] = dot(dy, i, in[2], j, c.value_size);
      along += p[at] * dp[at];
    }
    for (std::int64_t j = 0; j <= i; ++j) {
      const auto at = static_cast<std::size_t>(j);
      const auto ds = p[at] * (dp[at] - along) * factor;
      for (std::int64_t d = head * c.key_size; d < (head + 1) * c.key_size; ++d) {
        gradients[0].at({row, i, d}) += ds * in[1].at({row, j, d});
        gradients[1].at({row, j, d}) += ds * in[0].at({row, i, d});
      }
      for (std::int64_t d = head * c.value_size; d < (head + 1) * c.value_size; ++d)
        gradients[2].at({row, j, d}) += p[at] * dy.at({row, i, d});
    }
  }
}

/// Causal attention with more queries than a kernel takes at a time. The gradient is computed, because differences of
/// so many inputs take too long.
OpCase long_attention_case(std::int64_t places, std::int64_t heads) {
  const AttentionCase c{places, places, heads, 3, 2, true};
  auto result = attention_case(c);
  result.by_differences = false;
  result.reference.backward = [c](const Arrays& in, const Array& dy) {
    Arrays gradients{Array(in[0].sizes), Array(in[1].sizes), Array(in[2].sizes)};
    for (std::int64_t row = 0; row < in[0].sizes[0]; ++row)
      for (std::int64_t head = 0; head < c.heads; ++head) add_causal_gradients(c, in, dy, row, head, gradients);
    return gradients;
  };
  return result;
}

/// The reference of lstm: the hidden states of all times, the last hidden state and the last cell.
Arrays lstm_reference(const Arrays& in) {
  const auto rows = in[0].sizes[0], times = in[0].sizes[1], size = in[1].sizes[0];
  Array hidden({rows, times, size}), h = in[2], c = in[3];
  for (std::int64_t time = 0; time < times; ++time) {
    const auto before = h;
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t i = 0; i < size; ++i) {
        double gate[4];
        for (std::int64_t g = 0; g < 4; ++g) {
          gate[g] = in[0].at({row, time, g * size + i});
          for (std::int64_t j = 0; j < size; ++j) gate[g] += before.at({row, j}) * in[1].at({j, g * size + i});
        }
        c.at({row, i}) =
            reference::sigmoid(gate[1]) * c.at({row, i}) + reference::sigmoid(gate[0]) * std::tanh(gate[2]);
        h.at({row, i}) = reference::sigmoid(gate[3]) * std::tanh(c.at({row, i}));
        hidden.at({row, time, i}) = h.at({row, i});
      }
  }
  return {hidden, h, c};
}

/// An LSTM whose result number `differentiated` comes first and is differentiated.
OpCase lstm_case(std::int64_t times, std::int64_t size, std::size_t differentiated) {
  const auto rotated = [differentiated](auto results) {
    std::rotate(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(differentiated), results.end());
    return results;
  };
  return forward_case(
      "lstm of " + std::to_string(times) + " times, size " + std::to_string(size) + ", result " +
          std::to_string(differentiated),
      {{{kBatch, times, 4 * size}}, {{size, 4 * size}}, {{kBatch, size}}, {{kBatch, size}}},
      [rotated](const Values& x) {
        const auto y = lstm(x[0], x[1], x[2], x[3]);
        return rotated(Values{y.hidden, y.last_hidden, y.last_cell});
      },
      [rotated](const Arrays& in) { return rotated(lstm_reference(in)); });
}

OpCase dropout_case(const Shape& shape, double rate) {
  constexpr std::uint64_t kSeed = 0x1234567890abcdef;
  const auto forward = [rate](const Arrays& in) {
    auto y = in[0];
    const auto width = y.elements() / std::max<std::int64_t>(1, y.sizes[0]);
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      const auto place = i % width, block = place / 64 * 16 + place % 16, word = place / 16 % 4;
      const auto row = static_cast<std::uint32_t>(in[1].data[2]) + static_cast<std::uint32_t>(i / width);
      const auto bits = philox(kSeed ^ 0x64726f706f757421,
                               {static_cast<std::uint32_t>(block), row, static_cast<std::uint32_t>(in[1].data[3]), 5});
      const bool kept = static_cast<double>(bits[static_cast<std::size_t>(word)] >> 8) * 0x1.0p-24 >= rate;
      y.data[static_cast<std::size_t>(i)] *= kept ? 1.0 / (1.0 - rate) : 0.0;
    }
    return Arrays{y};
  };
  return forward_case(
      "dropout " + to_string(shape) + " at " + std::to_string(rate), {{shape}, batch_info()},
      [rate](const Values& x) { return Values{dropout(x[0], rate, kSeed, 5, x[1])}; }, forward);
}

}  // namespace

std::vector<OpCase> sequence_cases() {
  std::vector<OpCase> cases{attention_case({3, 3, 2, 2, 2}),
                            attention_case({3, 5, 1, 4, 3}),
                            attention_case({4, 4, 2, 2, 3, true}),
                            attention_case({3, 4, 2, 2, 1, false, 2}),
                            attention_case({3, 2, 1, 3, 2, false, 3}),
                            attention_case({3, 3, 2, 1, 2, true, 3}),
                            attention_case({1, 1, 1, 1, 1, true}),
                            long_attention_case(70, 1),
                            long_attention_case(128, 3),
                            long_attention_case(260, 2)};
  for (std::size_t result = 0; result < 3; ++result) cases.push_back(lstm_case(3, 2, result));
  cases.push_back(lstm_case(1, 5, 0));
  cases.push_back(dropout_case({kBatch, 7}, 0.5));
  cases.push_back(dropout_case({kBatch, 3, 50}, 0.25));
  cases.push_back(dropout_case({kBatch, 4}, 0.0));
  return cases;
}

}  // namespace troupe::ops_test
