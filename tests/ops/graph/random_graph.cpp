#include "troupe/tests/ops/graph/random_graph.hpp"

#include <algorithm>
#include <cmath>

#include "troupe/ops/fused/finite.hpp"
#include "troupe/ops/library/conv2d.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/ops/library/pool.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/library/softmax.hpp"

namespace troupe::ops_test {

namespace {

// Limits of the numbers in a step and of its elements.
constexpr double kMaxNumber = 6.0;
constexpr std::int64_t kMaxElements = 400;

std::vector<std::int64_t> all_axes(const Shape& shape) {
  std::vector<std::int64_t> axes;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) axes.push_back(static_cast<std::int64_t>(axis));
  return axes;
}

std::function<Array(const Arrays&)> first_of(const Reference& reference) {
  return [forward = reference.forward](const Arrays& in) { return forward(in)[0]; };
}

}  // namespace

RandomGraph::RandomGraph(std::uint64_t seed) : random_(seed), rows_(static_cast<std::int64_t>(below(6))) {
  if (below(3) == 0)
    add_source({kBatch, 4 + static_cast<std::int64_t>(below(3)), 5, 1 + static_cast<std::int64_t>(below(2))}, false);
  else
    add_source({kBatch, 2 + static_cast<std::int64_t>(below(4))}, false);
  if (often()) add_source({2 + static_cast<std::int64_t>(below(3))}, true);
  for (auto steps = 2 + below(10); steps > 0; --steps) add_random_step();
  for (int tries = 0; tries < 3; ++tries) outputs_.push_back(any_item());
  outputs_.push_back(static_cast<int>(items_.size()) - 1);
  std::ranges::sort(outputs_);
  outputs_.erase(std::unique(outputs_.begin(), outputs_.end()), outputs_.end());
}

int RandomGraph::add_source(const Shape& shape, bool is_parameter, std::int64_t classes) {
  Array array(shape.with_rows(rows_).list());
  for (auto& element : array.data)
    element = classes > 0 ? static_cast<double>(below(static_cast<std::uint64_t>(classes)))
                          : static_cast<double>(below(4001)) / 2000.0 - 1.0;
  for (auto& element : array.data) element = static_cast<double>(static_cast<float>(element));
  items_.push_back({.source = static_cast<int>(sources_.size()), .has_gradient = classes == 0, .shape = shape});
  sources_.push_back(array);
  is_float_.push_back(classes == 0);
  is_parameter_.push_back(is_parameter);
  values_.push_back(std::move(array));
  return static_cast<int>(items_.size()) - 1;
}

bool RandomGraph::add_step(Item item, const Shape& shape) {
  if (shape.with_rows(std::max<std::int64_t>(rows_, 1)).elements() > kMaxElements) return false;
  Arrays inputs;
  for (auto input : item.inputs) {
    item.has_gradient = item.has_gradient && differentiable_item(input);
    inputs.push_back(values_[static_cast<std::size_t>(input)]);
  }
  auto value = item.compute(inputs);
  if (std::ranges::any_of(value.data, [](double x) { return !(std::abs(x) <= kMaxNumber); })) return false;
  item.shape = shape;
  items_.push_back(std::move(item));
  values_.push_back(std::move(value));
  return true;
}

void RandomGraph::add_random_step() {
  using Add = void (RandomGraph::*)();
  constexpr Add kKinds[] = {
      &RandomGraph::add_binary,  &RandomGraph::add_unary,   &RandomGraph::add_unary,     &RandomGraph::add_reduction,
      &RandomGraph::add_product, &RandomGraph::add_product, &RandomGraph::add_image_op,  &RandomGraph::add_loss_op,
      &RandomGraph::add_views,   &RandomGraph::add_math,    &RandomGraph::add_math,      &RandomGraph::add_moving,
      &RandomGraph::add_moving,  &RandomGraph::add_norm,    &RandomGraph::add_selection, &RandomGraph::add_attention};
  (this->*kKinds[below(std::size(kKinds))])();
}

void RandomGraph::add_binary() {
  const auto a = any_item();
  const auto& shape = shape_of(a);
  // The second operand is a bias or a value of the same shape.
  std::vector<int> alike;
  for (std::size_t i = 0; i < items_.size(); ++i)
    if (items_[i].shape == shape && items_[i].has_gradient) alike.push_back(static_cast<int>(i));
  if (!differentiable_item(a)) return;
  const bool bias = shape.rank() >= 2 && below(3) == 0;
  const auto b = bias ? add_source({shape.back(0)}, true) : alike[below(alike.size())];
  const auto kind = below(3);
  const auto op = kind == 0 ? add : kind == 1 ? sub : mul;
  const auto reference = kind == 0 ? reference::add() : kind == 1 ? reference::sub() : reference::mul();
  const auto result = shape_of(a);
  add_step({.inputs = {a, b}, .build = [op](const auto& x) { return op(x[0], x[1]); }, .compute = first_of(reference)},
           result);
}

void RandomGraph::add_unary() {
  const auto x = any_item();
  const auto shape = shape_of(x);
  if (!differentiable_item(x)) return;
  const auto kind = below(4);
  if (kind == 0)
    add_step({.inputs = {x},
              .build = [](const auto& v) { return v[0] * -1.5; },
              .compute = first_of(reference::scale(-1.5))},
             shape);
  else if (kind == 1 && shape.rank() >= 2)
    add_step({.inputs = {x},
              .build = [](const auto& v) { return softmax(v[0]); },
              .compute = first_of(reference::softmax())},
             shape);
  else if (kind == 2)
    add_step({.inputs = {x},
              .build = [](const auto& v) { return check_finite(v[0]); },
              .compute = first_of(reference::identity())},
             shape);
  else
    add_step({.inputs = {x}, .build = [](const auto& v) { return relu(v[0]); }, .compute = first_of(reference::relu())},
             shape);
}

void RandomGraph::add_reduction() {
  const auto x = any_item();
  const auto shape = shape_of(x);
  if (shape.rank() < 2 || !differentiable_item(x)) return;
  const bool mean = below(2) == 0;
  const auto axis = static_cast<std::int64_t>(mean ? 1 + below(shape.rank() - 1) : below(shape.rank()));
  if (mean && shape[static_cast<std::size_t>(axis)] == 0) return;
  const std::vector<std::int64_t> axes{axis};
  auto sizes = shape.list();
  sizes.erase(sizes.begin() + axis);
  add_step({.inputs = {x},
            .build = [=](const auto& v) { return mean ? reduce_mean(v[0], axes) : reduce_sum(v[0], axes); },
            .compute = first_of(mean ? reference::reduce_mean(axes) : reference::reduce_sum(axes))},
           Shape(sizes));
}

void RandomGraph::add_product() {
  const auto x = any_item();
  const auto shape = shape_of(x);
  if (shape.rank() != 2 || !differentiable_item(x)) return;
  const auto units = 1 + static_cast<std::int64_t>(below(5));
  const bool transposed = below(3) == 0;
  const auto weights = add_source(transposed ? Shape{units, shape[1]} : Shape{shape[1], units}, true);
  const auto kind = below(3);
  std::vector<int> inputs{x, weights};
  if (kind > 0 && !transposed) inputs.push_back(add_source({units}, true));
  const bool has_bias = inputs.size() == 3;
  const auto build = [=](const std::vector<Value>& v) {
    return has_bias ? linear(v[0], v[1], v[2]) : matmul(v[0], v[1], {.transpose_b = transposed});
  };
  const Shape result{shape[0], units};
  const bool added = add_step(
      {.inputs = inputs, .build = build, .compute = first_of(reference::matmul(false, transposed, false))}, result);
  if (added && kind == 2)
    add_step({.inputs = {static_cast<int>(items_.size()) - 1},
              .build = [](const auto& v) { return relu(v[0]); },
              .compute = first_of(reference::relu())},
             result);
}

void RandomGraph::add_image_op() {
  const auto x = any_item();
  const auto shape = shape_of(x);
  if (shape.rank() != 4 || shape[1] < 3 || shape[2] < 3) return;
  const auto stride = 1 + static_cast<std::int64_t>(below(2));
  const auto padding = static_cast<std::int64_t>(below(2));
  const auto kernel = 2 + static_cast<std::int64_t>(below(2));
  const auto size = [&](std::int64_t length) { return (length + 2 * padding - kernel) / stride + 1; };
  if (below(2) == 0) {
    const MaxPoolOptions options{kernel, stride, padding};
    add_step({.inputs = {x},
              .build = [options](const auto& v) { return max_pool(v[0], options); },
              .compute = first_of(reference::max_pool(kernel, stride, padding))},
             {shape[0], size(shape[1]), size(shape[2]), shape[3]});
    return;
  }
  const auto filters = 1 + static_cast<std::int64_t>(below(3));
  const auto weights = add_source({kernel, kernel, shape[3], filters}, true);
  const Conv2dOptions options{stride, padding};
  add_step({.inputs = {x, weights},
            .build = [options](const auto& v) { return conv2d(v[0], v[1], options); },
            .compute = first_of(reference::conv2d(stride, padding, false))},
           {shape[0], size(shape[1]), size(shape[2]), filters});
}

void RandomGraph::add_loss_op() {
  const auto x = any_item();
  const auto shape = shape_of(x);
  if (shape.rank() != 2 || !shape.has_batch() || !differentiable_item(x)) return;
  const auto labels = add_source({kBatch}, false, shape[1]);
  add_step({.inputs = {x, labels},
            .build = [](const auto& v) { return softmax_cross_entropy(v[0], v[1]).loss; },
            .compute = first_of(reference::softmax_cross_entropy())},
           {kBatch});
  items_.back().has_gradient = items_.back().source < 0;
}

void RandomGraph::add_views() {
  const auto x = any_item();
  const auto shape = shape_of(x);
  if (!differentiable_item(x)) return;
  if (shape.rank() >= 2 && often()) {
    const Shape flat{shape[0], shape.row_elements()};
    add_step({.inputs = {x},
              .build = [](const auto& v) { return flatten(v[0]); },
              .compute = first_of(reference::reshape(flat.list()))},
             flat);
  } else if (!shape.has_batch() && shape.rank() >= 1 && shape.elements() >= 2) {
    // The step is a view of a pack of x and 2 x, which begins at element 1 of 2 x.
    const auto count = shape.elements();
    const auto build = [=](const std::vector<Value>& v) {
      const std::vector parts{v[0], v[0] * 2.0};
      return view_at(pack(parts), pack_offsets({{parts[0].info(), parts[1].info()}})[1] + 1, Shape{count - 1});
    };
    const auto compute = [=](const Arrays& in) {
      Array part(Sizes{count - 1});
      for (std::int64_t i = 0; i + 1 < count; ++i)
        part.data[static_cast<std::size_t>(i)] = 2.0 * in[0].data[static_cast<std::size_t>(i) + 1];
      return part;
    };
    add_step({.inputs = {x}, .build = build, .compute = compute, .has_gradient = false}, {count - 1});
  }
}

Graph RandomGraph::graph() const {
  GraphBuilder builder;
  std::vector<Value> values;
  for (const auto& item : items_) {
    if (item.source >= 0) {
      const auto i = static_cast<std::size_t>(item.source);
      const auto name = "x" + std::to_string(i);
      values.push_back(is_parameter_[i]
                           ? builder.parameter(name, item.shape, Initializer::zeros())
                           : builder.input(name, item.shape, is_float_[i] ? DType::float32 : DType::int32));
      continue;
    }
    std::vector<Value> inputs;
    for (auto input : item.inputs) inputs.push_back(values[static_cast<std::size_t>(input)]);
    values.push_back(item.build(inputs));
  }
  auto loss = builder.constant(Tensor::scalar(0.0F));
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const auto y = values[static_cast<std::size_t>(outputs_[i])];
    builder.output("y" + std::to_string(i), y);
    if (differentiable_item(outputs_[i])) loss = loss + reduce_sum(y * y, all_axes(y.shape()));
  }
  builder.output("loss", loss);
  return std::move(builder).build();
}

Arrays RandomGraph::compute(const Arrays& sources) const {
  Arrays values;
  for (const auto& item : items_) {
    if (item.source >= 0) {
      values.push_back(sources[static_cast<std::size_t>(item.source)]);
      continue;
    }
    Arrays inputs;
    for (auto input : item.inputs) inputs.push_back(values[static_cast<std::size_t>(input)]);
    values.push_back(item.compute(inputs));
  }
  Arrays results;
  Array loss(Sizes{});
  for (auto output : outputs_) {
    results.push_back(values[static_cast<std::size_t>(output)]);
    if (!differentiable_item(output)) continue;
    for (auto element : results.back().data) loss.data[0] += element * element;
  }
  results.push_back(loss);
  return results;
}

}  // namespace troupe::ops_test
