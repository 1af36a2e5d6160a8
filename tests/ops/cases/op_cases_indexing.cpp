#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "troupe/ops/fused/load_rows.hpp"
#include "troupe/ops/library/gather.hpp"
#include "troupe/ops/library/top_k.hpp"
#include "troupe/tests/ops/cases/op_cases.hpp"

namespace troupe::ops_test {

namespace {

OpCase gather_case(const Shape& table, const Shape& indices, Draw draw) {
  const auto forward = [](const Arrays& in) {
    auto sizes = in[1].sizes;
    sizes.insert(sizes.end(), in[0].sizes.begin() + 1, in[0].sizes.end());
    const auto width = product(in[0].sizes) / in[0].sizes[0];
    Array y(sizes);
    for (std::int64_t i = 0; i < y.elements(); ++i)
      y.data[static_cast<std::size_t>(i)] = in[0].data[static_cast<std::size_t>(
          static_cast<std::int64_t>(in[1].data[static_cast<std::size_t>(i / width)]) * width + i % width)];
    return Arrays{y};
  };
  const CaseInput places{indices, draw, false, table[0]};
  return forward_case(
      "gather " + to_string(table) + " by " + to_string(TensorInfo{indices, places.dtype()}), {{table}, places},
      [](const Values& x) { return Values{gather(x[0], x[1])}; }, forward);
}

using Scaling = std::optional<std::pair<float, float>>;

/// Rows of data by their numbers, optionally scaled. The reference rounds as float32 does, so the bits are the same.
OpCase load_rows_case(const Shape& data, Draw draw, const Scaling& scaling) {
  const auto forward = [=](const Arrays& in) {
    auto sizes = in[0].sizes;
    const auto width = product(sizes) / sizes[0];
    sizes[0] = in[1].sizes[0];
    Array y(sizes);
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      const auto row = static_cast<std::int64_t>(in[1].data[static_cast<std::size_t>(i / width)]);
      auto x = in[0].data[static_cast<std::size_t>(row * width + i % width)];
      // The product of two float32 numbers is exact in double.
      if (scaling) x = static_cast<float>(x * scaling->first) + scaling->second;
      y.data[static_cast<std::size_t>(i)] = static_cast<float>(x);
    }
    return Arrays{y};
  };
  const CaseInput rows{data, draw, false, 200};
  return exact_case(
      "load_rows of " + to_string(TensorInfo{data, rows.dtype()}) + (scaling ? " scaled" : ""),
      {rows, {{kBatch}, Draw::labels, false, data[0]}},
      [=](const Values& x) {
        return Values{scaling ? load_rows(x[0], x[1], scaling->first, scaling->second) : load_rows(x[0], x[1])};
      },
      forward);
}

OpCase scatter_case(const Shape& values, const Shape& indices, Draw draw) {
  constexpr std::int64_t kRows = 6;
  const auto forward = [indices](const Arrays& in) {
    Sizes sizes{kRows};
    sizes.insert(sizes.end(), in[0].sizes.begin() + static_cast<std::ptrdiff_t>(indices.rank()), in[0].sizes.end());
    Array y(sizes);
    const auto width = y.elements() / kRows;
    for (std::int64_t i = 0; i < in[0].elements(); ++i)
      y.data[static_cast<std::size_t>(
          static_cast<std::int64_t>(in[1].data[static_cast<std::size_t>(i / width)]) * width + i % width)] +=
          in[0].data[static_cast<std::size_t>(i)];
    return Arrays{y};
  };
  return forward_case(
      "scatter_add " + to_string(values) + " by " + to_string(indices), {{values}, {indices, draw, false, kRows}},
      [](const Values& x) { return Values{scatter_add(x[0], x[1], kRows)}; }, forward);
}

OpCase one_hot_case(const Shape& indices, Draw draw, std::int64_t classes) {
  return exact_case(
      "one_hot " + to_string(indices) + " of " + std::to_string(classes), {{indices, draw, false, classes}},
      [classes](const Values& x) { return Values{one_hot(x[0], classes)}; },
      [classes](const Arrays& in) {
        auto sizes = in[0].sizes;
        sizes.push_back(classes);
        Array y(sizes);
        for (std::int64_t i = 0; i < in[0].elements(); ++i)
          y.data[static_cast<std::size_t>(i * classes +
                                          static_cast<std::int64_t>(in[0].data[static_cast<std::size_t>(i)]))] = 1.0;
        return Arrays{y};
      });
}

/// Calls f for every line of elements along an axis, with the numbers of the elements in the array.
void for_each_line(const Sizes& sizes, std::size_t axis,
                   const std::function<void(const std::vector<std::size_t>&)>& f) {
  for (std::int64_t i = 0; i < product(sizes); ++i) {
    auto at = index_of(sizes, i);
    if (at[axis] != 0) continue;
    std::vector<std::size_t> line;
    for (; at[axis] < sizes[axis]; ++at[axis]) line.push_back(static_cast<std::size_t>(flat_of(sizes, at)));
    f(line);
  }
}

OpCase argmax_case(const Shape& shape, std::int64_t axis) {
  return exact_case(
      "argmax " + to_string(shape) + " along " + std::to_string(axis), {{shape, Draw::eighths}},
      [axis](const Values& x) { return Values{argmax(x[0], axis)}; },
      [axis](const Arrays& in) {
        auto sizes = in[0].sizes;
        sizes.erase(sizes.begin() + axis);
        Array y(sizes);
        std::size_t i = 0;
        for_each_line(in[0].sizes, static_cast<std::size_t>(axis), [&](const auto& line) {
          std::size_t best = 0;
          for (std::size_t j = 1; j < line.size(); ++j)
            if (in[0].data[line[j]] > in[0].data[line[best]]) best = j;
          y.data[i++] = static_cast<double>(best);
        });
        return Arrays{y};
      });
}

OpCase top_k_case(const Shape& shape, std::int64_t k) {
  const auto forward = [k](const Arrays& in) {
    auto sizes = in[0].sizes;
    const auto width = sizes.back();
    sizes.back() = k;
    Array values(sizes), places(sizes);
    for (std::int64_t row = 0; row < in[0].elements() / width; ++row) {
      std::vector<std::int64_t> order(static_cast<std::size_t>(width));
      std::iota(order.begin(), order.end(), 0);
      const auto at = [&](std::int64_t i) { return in[0].data[static_cast<std::size_t>(row * width + i)]; };
      std::ranges::stable_sort(order, [&](auto a, auto b) { return at(a) > at(b); });
      for (std::int64_t i = 0; i < k; ++i) {
        values.data[static_cast<std::size_t>(row * k + i)] = at(order[static_cast<std::size_t>(i)]);
        places.data[static_cast<std::size_t>(row * k + i)] = static_cast<double>(order[static_cast<std::size_t>(i)]);
      }
    }
    return Arrays{values, places};
  };
  return forward_case(
      "top_k " + to_string(shape) + " of " + std::to_string(k), {{shape, Draw::distinct}},
      [k](const Values& x) {
        const auto [values, indices] = top_k(x[0], k);
        return Values{values, indices};
      },
      forward);
}

OpCase cumulative_case(const Shape& shape, std::int64_t axis) {
  return forward_case(
      "cumulative_sum " + to_string(shape) + " along " + std::to_string(axis), {{shape}},
      [axis](const Values& x) { return Values{cumulative_sum(x[0], axis)}; },
      [axis](const Arrays& in) {
        auto y = in[0];
        for_each_line(y.sizes, static_cast<std::size_t>(axis), [&](const auto& line) {
          for (std::size_t i = 1; i < line.size(); ++i) y.data[line[i]] += y.data[line[i - 1]];
        });
        return Arrays{y};
      });
}

}  // namespace

std::vector<OpCase> indexing_cases() {
  return {gather_case({5, 3}, {kBatch}, Draw::labels),
          gather_case({5, 3}, {kBatch, 4}, Draw::wide_labels),
          gather_case({4}, {3, 2}, Draw::labels),
          gather_case({3, 2, 2}, {kBatch}, Draw::labels),
          gather_case({5, 8}, {kBatch}, Draw::labels),
          load_rows_case({5, 3}, Draw::uniform, {}),
          load_rows_case({7}, Draw::labels, {}),
          load_rows_case({3, 2, 2}, Draw::wide_labels, {}),
          load_rows_case({4, 300}, Draw::mask, {}),
          load_rows_case({4, 3000}, Draw::mask, std::pair(1.0F / 255.0F, -0.3F)),
          load_rows_case({6, 2, 9}, Draw::uniform, std::pair(0.7F, 0.1F)),
          scatter_case({kBatch, 3}, {kBatch}, Draw::labels),
          scatter_case({kBatch, 4, 2}, {kBatch, 4}, Draw::wide_labels),
          scatter_case({5}, {5}, Draw::labels),
          one_hot_case({kBatch}, Draw::labels, 4),
          one_hot_case({kBatch, 3}, Draw::wide_labels, 1),
          one_hot_case({}, Draw::labels, 5),
          argmax_case({kBatch, 9}, 1),
          argmax_case({kBatch, 3, 4}, 1),
          argmax_case({4, 3}, 0),
          top_k_case({kBatch, 9}, 1),
          top_k_case({kBatch, 9}, 4),
          top_k_case({2, 3, 5}, 5),
          cumulative_case({kBatch, 9}, 1),
          cumulative_case({kBatch, 3, 4}, 1),
          cumulative_case({4, 3}, 0)};
}

}  // namespace troupe::ops_test
