#include <algorithm>

#include "troupe/ops/library/slice.hpp"
#include "troupe/ops/library/transpose.hpp"
#include "troupe/tests/ops/cases/op_cases.hpp"

namespace troupe::ops_test {

namespace {

/// The array whose element at an index is the element of x at the index that `from` returns.
Array picked(const Array& x, const Sizes& sizes, const std::function<Sizes(const Sizes&)>& from) {
  Array y(sizes);
  for (std::int64_t i = 0; i < y.elements(); ++i)
    y.data[static_cast<std::size_t>(i)] = x.data[static_cast<std::size_t>(flat_of(x.sizes, from(index_of(sizes, i))))];
  return y;
}

Array sliced(const Array& x, std::size_t axis, std::int64_t begin, std::int64_t size) {
  auto sizes = x.sizes;
  sizes[axis] = size;
  return picked(x, sizes, [=](Sizes at) {
    at[axis] += begin;
    return at;
  });
}

OpCase slice_case(const Shape& shape, std::int64_t axis, std::int64_t begin, std::int64_t size) {
  const auto at = static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(shape.rank()) : axis);
  return forward_case(
      "slice " + to_string(shape) + " axis " + std::to_string(axis) + " from " + std::to_string(begin) + " size " +
          std::to_string(size),
      {{shape}}, [=](const Values& x) { return Values{slice(x[0], axis, begin, size)}; },
      [=](const Arrays& in) { return Arrays{sliced(in[0], at, begin, size)}; });
}

OpCase pad_case(const Shape& shape, const Sizes& before, const Sizes& after, double value, Draw draw = Draw::uniform) {
  const auto forward = [=](const Arrays& in) {
    auto sizes = in[0].sizes;
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) sizes[axis] += before[axis] + after[axis];
    Array y(sizes);
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      auto at = index_of(sizes, i);
      bool inside = true;
      for (std::size_t axis = 0; axis < at.size(); ++axis) {
        at[axis] -= before[axis];
        inside = inside && at[axis] >= 0 && at[axis] < in[0].sizes[axis];
      }
      y.data[static_cast<std::size_t>(i)] =
          inside ? in[0].data[static_cast<std::size_t>(flat_of(in[0].sizes, at))] : value;
    }
    return Arrays{y};
  };
  const auto build = [=](const Values& x) { return Values{pad(x[0], before, after, value)}; };
  const CaseInput input{shape, draw, true, 9};
  const auto name = "pad " + to_string(TensorInfo{shape, input.dtype()}) + " before " + to_string(Shape(before)) +
                    " after " + to_string(Shape(after));
  return draw == Draw::uniform ? forward_case(name, {input}, build, forward)
                               : exact_case(name, {input}, build, forward);
}

OpCase concat_case(std::vector<CaseInput> inputs, std::int64_t axis) {
  std::string name = "concat along " + std::to_string(axis) + " of";
  for (const auto& input : inputs) name += " " + to_string(TensorInfo{input.shape, input.dtype()});
  const auto rank = static_cast<std::int64_t>(inputs[0].shape.rank());
  const auto at = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  const auto forward = [at](const Arrays& in) {
    auto sizes = in[0].sizes;
    for (std::size_t i = 1; i < in.size(); ++i) sizes[at] += in[i].sizes[at];
    Array y(sizes);
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      auto place = index_of(sizes, i);
      std::size_t part = 0;
      for (; place[at] >= in[part].sizes[at]; ++part) place[at] -= in[part].sizes[at];
      y.data[static_cast<std::size_t>(i)] = in[part].data[static_cast<std::size_t>(flat_of(in[part].sizes, place))];
    }
    return Arrays{y};
  };
  const bool differentiable = inputs[0].dtype() == DType::float32;
  const auto build = [axis](const Values& x) { return Values{concat(x, axis)}; };
  return differentiable ? forward_case(name, inputs, build, forward) : exact_case(name, inputs, build, forward);
}

OpCase transpose_case(const Shape& shape, const Sizes& order, Draw draw = Draw::uniform) {
  const auto forward = [order](const Arrays& in) {
    Sizes sizes;
    for (auto axis : order) sizes.push_back(in[0].sizes[static_cast<std::size_t>(axis)]);
    return Arrays{picked(in[0], sizes, [&](const Sizes& at) {
      Sizes from(at.size());
      for (std::size_t i = 0; i < at.size(); ++i) from[static_cast<std::size_t>(order[i])] = at[i];
      return from;
    })};
  };
  const CaseInput input{shape, draw, true, 9};
  const auto name = "transpose " + to_string(TensorInfo{shape, input.dtype()}) + " to " + to_string(Shape(order));
  const auto build = [order](const Values& x) { return Values{transpose(x[0], order)}; };
  return draw == Draw::uniform ? forward_case(name, {input}, build, forward)
                               : exact_case(name, {input}, build, forward);
}

/// Rows begin .. begin + size of the batch, where the part of the replica begins with row 1 (see Draw::batch_info).
OpCase slice_rows_case(std::int64_t begin, std::int64_t size) {
  const auto forward = [=](const Arrays& in) {
    Array y({size, 3});
    const auto first = static_cast<std::int64_t>(in[1].data[2]);
    for (std::int64_t row = 0; row < size; ++row)
      for (std::int64_t i = 0; i < 3; ++i)
        if (begin + row >= first && begin + row < first + in[0].sizes[0])
          y.at({row, i}) = in[0].at({begin + row - first, i});
    return Arrays{y};
  };
  return forward_case(
      "slice_rows from " + std::to_string(begin) + " size " + std::to_string(size), {{{kBatch, 3}}, batch_info()},
      [=](const Values& x) { return Values{slice_rows(x[0], begin, size, x[1])}; }, forward);
}

OpCase rows_of_part_case() {
  return forward_case(
      "rows_of_part", {{{40, 3}}, {{kBatch, 1}, Draw::uniform, false}, batch_info()},
      [](const Values& x) { return Values{rows_of_part(x[0], x[1], x[2])}; },
      [](const Arrays& in) {
        return Arrays{sliced(in[0], 0, static_cast<std::int64_t>(in[2].data[2]), in[1].sizes[0])};
      });
}

}  // namespace

std::vector<OpCase> moving_cases() {
  std::vector<OpCase> cases{
      slice_case({kBatch, 7}, 1, 2, 3),
      slice_case({kBatch, 7, 3}, 1, 0, 7),
      slice_case({kBatch, 4, 5}, -1, 4, 1),
      slice_case({5, 4}, 0, 1, 3),
      slice_case({2, 3, 4, 5}, 2, 1, 2),
      slice_case({kBatch, 4}, 1, 2, 0),
      pad_case({kBatch, 3}, {0, 1}, {0, 2}, 0.5),
      pad_case({2, 3}, {1, 0}, {0, 2}, 0.0),
      pad_case({kBatch, 2, 3, 2}, {0, 1, 1, 0}, {0, 1, 1, 0}, -1.0),
      pad_case({2, 0}, {0, 1}, {1, 1}, 2.0),
      pad_case({3}, {2}, {1}, 4.0, Draw::labels),
      pad_case({3}, {2}, {1}, 4.0, Draw::wide_labels),
      pad_case({3}, {2}, {1}, 1.0, Draw::mask),
      concat_case({{{kBatch, 2}}, {{kBatch, 3}}, {{kBatch, 1}}}, 1),
      concat_case({{{kBatch, 2, 3}}, {{kBatch, 2, 4}}}, -1),
      concat_case({{{2, 3}}, {{1, 3}}}, 0),
      concat_case({{{kBatch, 0}}, {{kBatch, 2}}}, 1),
      concat_case({{{kBatch, 5}}}, 1),
      concat_case({{{kBatch, 2}, Draw::labels, false, 9}, {{kBatch, 1}, Draw::labels, false, 9}}, 1),
      transpose_case({kBatch, 3, 4}, {0, 2, 1}),
      transpose_case({3, 4}, {1, 0}),
      transpose_case({kBatch, 2, 3, 4}, {0, 2, 1, 3}),
      transpose_case({2, 3, 4, 5}, {3, 1, 0, 2}),
      transpose_case({kBatch, 1, 4}, {0, 2, 1}),
      transpose_case({kBatch}, {0}),
      transpose_case({}, {}),
      transpose_case({3, 4}, {1, 0}, Draw::wide_labels),
      transpose_case({3, 4}, {1, 0}, Draw::mask),
      slice_rows_case(0, 4),
      slice_rows_case(3, 2),
      slice_rows_case(50, 3),
      slice_rows_case(1, 1),
      rows_of_part_case()};
  return cases;
}

}  // namespace troupe::ops_test
