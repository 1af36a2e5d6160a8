#include <limits>
#include <set>

#include "troupe/ops/fused/finite.hpp"
#include "troupe/ops/graph/program.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/library/softmax.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/gpu.hpp"
#include "troupe/tests/ops/cases/misuses.hpp"
#include "troupe/tests/ops/support.hpp"

namespace troupe::ops_test {

namespace {

std::string error_of_applying(const Misuse& misuse) {
  GraphBuilder builder;
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < misuse.inputs.size(); ++i)
    inputs.push_back(builder.input("x" + std::to_string(i), misuse.inputs[i].shape, misuse.inputs[i].dtype));
  return error_of([&] { builder.apply(find_op(misuse.op), inputs, misuse.attributes); });
}

}  // namespace

TEST_CASE("invalid inputs are an error that names the op and the shapes", "[ops][errors]") {
  for (const auto& misuse : misuses()) {
    const auto error = error_of_applying(misuse);
    INFO(misuse.op << ": " << error);
    CHECK(error.starts_with("[" + std::string(misuse.op) + "] "));
    for (const auto& info : misuse.inputs) CHECK(contains(error, to_string(info)));
  }
}

TEST_CASE("every op has a misuse in the table", "[ops][errors]") {
  std::set<std::string_view> covered;
  for (const auto& misuse : misuses()) covered.insert(misuse.op);
  for (const auto* op : built_in_ops()) {
    INFO(op->name);
    CHECK(covered.count(op->name) == 1);
  }
}

TEST_CASE("functions refuse arguments that no op can take", "[ops][errors]") {
  GraphBuilder builder;
  CHECK(error_of([&] { pack({}); }).starts_with("[pack] "));
  CHECK(error_of([&] { flatten(builder.input("x", {})); }).starts_with("[flatten] "));
}

namespace {

/// The text of the Error of running an op on one float32 input; empty if there is none.
std::string error_of_running(Value (*op)(Value), const std::vector<float>& elements) {
  GraphBuilder builder;
  builder.output("y", op(builder.input("x", {kBatch})));
  Program program(std::move(builder).build(), static_cast<std::int64_t>(elements.size()));
  program.bind("x", Tensor::from<float>({static_cast<std::int64_t>(elements.size())}, elements));
  return error_of([&] { program.run(); });
}

std::string error_of_label(std::int32_t label) {
  GraphBuilder builder;
  builder.output(
      "loss", softmax_cross_entropy(builder.input("x", {kBatch, 3}), builder.input("t", {kBatch}, DType::int32)).loss);
  Program program(std::move(builder).build(), 2);
  program.bind("x", Tensor({2, 3}, DType::float32));
  program.bind("t", Tensor::from<std::int32_t>({2}, std::vector<std::int32_t>{0, label}));
  return error_of([&] { program.run(); });
}

}  // namespace

TEST_CASE("check_finite ends a run at the first non-finite number", "[ops][errors]") {
  const auto infinity = std::numeric_limits<float>::infinity();
  const auto nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto not_finite : {infinity, -infinity, nan})
    CHECK(error_of_running(check_finite, {1.0F, not_finite, 2.0F}).starts_with("[check_finite] "));
  CHECK(error_of_running(check_finite, {std::numeric_limits<float>::max(), 0.0F}).empty());
}

TEST_CASE("all_finite is 1 unless an element is non-finite, and the run continues", "[ops]") {
  const auto infinity = std::numeric_limits<float>::infinity();
  const auto nan = std::numeric_limits<float>::quiet_NaN();
  GraphBuilder builder;
  const std::vector values{builder.input("x", {3}), builder.input("y", {0}), builder.input("z", {})};
  builder.output("flag", all_finite(values));
  builder.output("again", at_least(all_finite(values), 0.5) * 2.0);
  Program program(std::move(builder).build(), 0);
  program.bind("y", Tensor({0}, DType::float32));
  const auto flag_of = [&](float in_x, float z) {
    program.bind("x", Tensor::from<float>({3}, std::vector<float>{1.0F, 2.0F, in_x}));
    program.bind("z", Tensor::scalar(z));
    program.run();
    CHECK(program.output("again").item<float>() == 2.0F * program.output("flag").item<float>());
    return program.output("flag").item<float>();
  };
  CHECK(flag_of(std::numeric_limits<float>::lowest(), 0.0F) == 1.0F);
  for (const auto not_finite : {infinity, -infinity, nan}) {
    CHECK(flag_of(not_finite, 0.0F) == 0.0F);
    CHECK(flag_of(0.0F, not_finite) == 0.0F);
  }
  CHECK(error_of([] { all_finite(std::span<const Value>{}); }).starts_with("[all_finite] "));
}

TEST_CASE("all_finite finds the last of few and of many elements on a GPU", "[.gpu]") {
  const auto device = testing::gpu();
  if (!device) return;
  for (const std::int64_t elements : {1, 1023, 5000}) {
    GraphBuilder builder;
    builder.output("flag", all_finite(std::vector{builder.input("x", {elements}), builder.input("y", {1})}));
    Program program(std::move(builder).build(), 0, *device);
    const Tensor x({elements}, DType::float32);
    const auto flag_of = [&](float last) {
      x.mutable_data<float>().back() = last;
      program.bind("x", x.to(*device));
      program.bind("y", Tensor::from<float>({1}, std::vector{2.0F}).to(*device));
      program.run();
      return program.output("flag").to(Device{}).item<float>();
    };
    CHECK(flag_of(3.0F) == 1.0F);
    CHECK(flag_of(std::numeric_limits<float>::quiet_NaN()) == 0.0F);
    CHECK(flag_of(-std::numeric_limits<float>::infinity()) == 0.0F);
  }
}

namespace {

void check_largest_magnitude(Device device) {
  const auto infinity = std::numeric_limits<float>::infinity();
  const auto nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::int64_t elements : {1, 63, 100'000}) {
    GraphBuilder builder;
    builder.output("y", largest_magnitude(std::vector{builder.input("x", {elements}), builder.input("z", {})}));
    Program program(std::move(builder).build(), 0, device);
    const Tensor x({elements}, DType::float32);
    std::ranges::fill(x.mutable_data<float>(), -0.5F);
    const auto largest_of = [&](float last, float z) {
      x.mutable_data<float>().back() = last;
      program.bind("x", x.to(device));
      program.bind("z", Tensor::scalar(z).to(device));
      program.run();
      return program.output("y").to(Device{}).item<float>();
    };
    CHECK(largest_of(-3.0F, 2.0F) == 3.0F);
    CHECK(largest_of(-3.0F, -4.0F) == 4.0F);
    CHECK(largest_of(std::numeric_limits<float>::denorm_min(), 0.0F) ==
          (elements == 1 ? std::numeric_limits<float>::denorm_min() : 0.5F));
    CHECK(largest_of(-infinity, 1.0F) == infinity);
    CHECK(std::isnan(largest_of(nan, infinity)));
    CHECK(std::isnan(largest_of(infinity, -nan)));
  }
}

void check_bound(Device device) {
  GraphBuilder builder;
  builder.output("y", largest_magnitude(std::vector{builder.input("x", {2})}, 10.0));
  Program program(std::move(builder).build(), 0, device);
  const auto bounded = [&](float x) {
    program.bind("x", Tensor::from<float>({2}, {x, 1.0F}).to(device));
    program.run();
    return program.output("y").to(Device{}).item<float>();
  };
  CHECK(bounded(-10.0F) == 10.0F);
  CHECK(bounded(std::nextafter(10.0F, 11.0F)) == std::numeric_limits<float>::infinity());
  CHECK(std::isnan(bounded(std::numeric_limits<float>::quiet_NaN())));
}

}  // namespace

TEST_CASE("the largest magnitude is that of any element, and a NaN is larger than infinity", "[ops]") {
  check_largest_magnitude(Device{});
  check_bound(Device{});
}

TEST_CASE("a GPU finds the largest magnitude of any element", "[.gpu]") {
  if (const auto device = testing::gpu()) {
    check_largest_magnitude(*device);
    check_bound(*device);
  }
}

TEST_CASE("at_most is 0 for a NaN", "[ops]") {
  GraphBuilder builder;
  builder.output("y", at_most(builder.input("x", {2}), 1.0));
  Program program(std::move(builder).build(), 0);
  program.bind("x", Tensor::from<float>({2}, std::vector<float>{std::numeric_limits<float>::quiet_NaN(), 1.0F}));
  program.run();
  CHECK(program.output("y").data<float>()[0] == 0.0F);
  CHECK(program.output("y").data<float>()[1] == 1.0F);
}

TEST_CASE("at_least is 0 for a NaN", "[ops]") {
  GraphBuilder builder;
  builder.output("y", at_least(builder.input("x", {2}), -1.0));
  Program program(std::move(builder).build(), 0);
  program.bind("x", Tensor::from<float>({2}, std::vector<float>{std::numeric_limits<float>::quiet_NaN(), -1.0F}));
  program.run();
  CHECK(program.output("y").data<float>()[0] == 0.0F);
  CHECK(program.output("y").data<float>()[1] == 1.0F);
}

TEST_CASE("a label out of range ends a run", "[ops][errors]") {
  for (const auto label : {-1, 3, std::numeric_limits<std::int32_t>::max()}) {
    const auto error = error_of_label(label);
    CHECK(error.starts_with("[softmax_cross_entropy] "));
    CHECK(contains(error, std::to_string(label)));
    CHECK(contains(error, "row 1"));
  }
  CHECK(error_of_label(2).empty());
}

}  // namespace troupe::ops_test
