#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <vector>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/half.hpp"
#include "troupe/ops/graph/kernel.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/graph/program.hpp"
#include "troupe/ops/library/cast.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/gpu.hpp"
#include "troupe/tests/ops/cases/check_case.hpp"

namespace troupe::ops_test {

namespace {

using Names = std::set<std::string_view>;

/// The ops whose declaration says that they compute in 16-bit floats on GPUs, and the views. CPUs compute all ops but
/// updates in 16-bit floats; in_float32_test compares those that GPUs do not.
const Names& declared_ops() {
  static const Names names = [] {
    Names declared;
    for (const auto* op : built_in_ops())
      if (op->kind == OpKind::view || gpu_takes_16_bits(*op)) declared.insert(op->name);
    return declared;
  }();
  return names;
}

/// The ops of a graph that read or write 16-bit floats.
Names ops_in_16_bits(const Graph& graph) {
  const auto is_narrow = [&](ValueId value) { return is_16_bit(graph.info(value).dtype); };
  Names ops;
  for (const auto& node : graph.nodes())
    if (std::ranges::any_of(node.inputs, is_narrow) || std::ranges::any_of(node.outputs, is_narrow))
      ops.insert(node.op->name);
  return ops;
}

/// The ops in 16 bits of the graph that `make` returns. Nothing if the graph cannot be made, has an op in 16 bits that
/// is not in declared_ops(), or has casts alone in 16 bits.
template <class Make>
std::optional<Names> computed_ops(Make make) {
  try {
    const auto ops = ops_in_16_bits(make());
    const bool all_compute = std::ranges::includes(declared_ops(), ops);
    return all_compute && ops.size() > 1 ? std::optional(ops) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// The last one or two numbers of rows, which suffice here: float32 cases try all of them.
std::vector<std::int64_t> last_ones(std::vector<std::int64_t> rows) {
  const std::ptrdiff_t count = testing::has_sanitizer() ? 1 : 2;
  if (std::ssize(rows) > count) rows.erase(rows.begin(), rows.end() - count);
  return rows;
}

/// Checks cases in one 16-bit dtype, and notes the ops that are covered.
class CasesIn16Bits {
 public:
  CasesIn16Bits(Device device, DType dtype) : device_(device), dtype_(dtype) {}

  void check(const OpCase& op_case) {
    if (const auto ops = computed_ops([&] { return case_graph(op_case, dtype_); })) {
      note(*ops);
      for (const auto rows : last_ones(op_case.rows())) {
        INFO(op_case.name << ", " << rows << " rows, " << name_of(dtype_));
        CHECK_NOTHROW(check_forward(op_case, rows, device_, dtype_));
      }
    }
    if (!has_gradient(op_case)) return;
    if (const auto ops = computed_ops([&] { return case_gradient_graph(op_case, dtype_); })) {
      note(*ops);
      const auto rows = op_case.gradient_rows().back();
      INFO("gradient of " << op_case.name << ", " << rows << " rows, " << name_of(dtype_));
      CHECK_NOTHROW(check_gradient(op_case, rows, device_, dtype_));
    }
  }

  const Names& covered() const { return covered_; }

 private:
  void note(const Names& ops) { covered_.insert(ops.begin(), ops.end()); }

  Device device_;
  DType dtype_;
  Names covered_;
};

template <class To, class From>
std::vector<To> cast_on(Device device, const std::vector<From>& numbers) {
  GraphBuilder builder;
  builder.output("y", cast(builder.input("x", {kBatch}, DTypeOf<From>::value), DTypeOf<To>::value));
  const auto rows = static_cast<std::int64_t>(numbers.size());
  Program program(std::move(builder).build(), rows, device);
  program.bind("x", Tensor::from<From>({rows}, numbers).to(device));
  program.run();
  const auto result = program.output("y").copy_to_host();
  const auto elements = result.template data<To>();
  return {elements.begin(), elements.end()};
}

/// Compares casts on a device with conversions on the host: casts of all 16-bit patterns to float32, and casts of their
/// values, the neighbors of these and the middles between two of them to 16 bits.
template <class Half>
void check_conversions(Device device) {
  std::vector<Half> halves;
  for (int bits = 0; bits < 0x10000; ++bits) halves.push_back(std::bit_cast<Half>(static_cast<std::uint16_t>(bits)));
  std::vector<float> numbers;
  const auto wide = cast_on<float>(device, halves);
  for (std::size_t i = 0; i < halves.size(); ++i) {
    const auto value = static_cast<float>(halves[i]);
    REQUIRE((wide[i] == value || (std::isnan(wide[i]) && std::isnan(value))));
    REQUIRE(std::signbit(wide[i]) == std::signbit(value));
    const auto next = i + 1 < halves.size() ? static_cast<float>(halves[i + 1]) : value;
    for (const auto number : {value, value + (next - value) / 2}) {
      numbers.push_back(number);
      numbers.push_back(std::nextafter(number, std::numeric_limits<float>::infinity()));
      numbers.push_back(std::nextafter(number, -std::numeric_limits<float>::infinity()));
    }
  }
  const auto narrow = cast_on<Half>(device, numbers);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto expected = Half(numbers[i]);
    CAPTURE(numbers[i]);
    if (std::isnan(numbers[i]))
      REQUIRE(std::isnan(static_cast<float>(narrow[i])));
    else
      REQUIRE(std::bit_cast<std::uint16_t>(narrow[i]) == std::bit_cast<std::uint16_t>(expected));
  }
}

const TensorInfo kNumbers{Shape{4}, DType::bfloat16};

/// The text of the Error of make_kernel; empty if the kernel is made.
std::string error_of_kernel(const OpDef& op, std::vector<TensorInfo> inputs, Device device) {
  try {
    (void)make_kernel({&op, {}, std::move(inputs), {kNumbers}}, device);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// Checks all cases in 16-bit floats on a device, and that they cover all ops that compute in them.
void check_cases(Device device) {
  CasesIn16Bits in_bfloat16(device, DType::bfloat16), in_float16(device, DType::float16);
  // With a sanitizer, each case runs in one of the two dtypes.
  const bool in_both = !testing::has_sanitizer();
  bool is_even = true;
  for (const auto& op_case : op_cases()) {
    if (in_both || is_even) in_bfloat16.check(op_case);
    if (in_both || !is_even) in_float16.check(op_case);
    is_even = !is_even;
  }
  for (const auto& op : declared_ops()) {
    INFO(op);
    const bool first = in_bfloat16.covered().contains(op), second = in_float16.covered().contains(op);
    CHECK((in_both ? first && second : first || second));
  }
}

}  // namespace

TEST_CASE("ops compute in 16-bit floats on a GPU what their references do", "[.gpu]") {
  if (const auto device = testing::gpu()) check_cases(*device);
}

TEST_CASE("ops compute in 16-bit floats on a CPU what their references do", "[kernel]") {
  check_cases(Device{});
}

TEST_CASE("a GPU converts every 16-bit float as the host does, and float32 between and beside them", "[.gpu]") {
  const auto device = testing::gpu();
  if (!device) return;
  check_conversions<Float16>(*device);
  check_conversions<BFloat16>(*device);
}

TEST_CASE("the op cast converts every 16-bit float as the host does", "[kernel]") {
  check_conversions<Float16>(Device{});
  check_conversions<BFloat16>(Device{});
}

TEST_CASE("an op without a kernel of 16-bit floats is refused by name when its kernel is made", "[kernel]") {
  CHECK(error_of_kernel(kAssign, {kNumbers, kNumbers}, Device{}) == "[assign] has no kernel of bfloat16 for cpu");
  CHECK(error_of_kernel(kAssign, {{Shape{4}, DType::float32}}, Device{}) ==
        "[assign] has no kernel of bfloat16 for cpu");
  CHECK(error_of_kernel(kAdd, {kNumbers, kNumbers}, Device{}).empty());
}

TEST_CASE("an op without a kernel of 16-bit floats for a GPU is refused by name", "[.gpu]") {
  const auto device = testing::gpu();
  if (!device) return;
  CHECK(error_of_kernel(kCheckFinite, {kNumbers}, *device) == "[check_finite] has no kernel of bfloat16 for cuda");
  CHECK(error_of_kernel(kAdd, {kNumbers, kNumbers}, *device).empty());
}

}  // namespace troupe::ops_test
