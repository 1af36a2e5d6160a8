#include "troupe/ops/fused/finite.hpp"
#include "troupe/tests/ops/cases/op_cases.hpp"

namespace troupe::ops_test {

namespace {

Values checked(const Values& x) {
  return {check_finite(x[0])};
}

Values flag(const Values& x) {
  return {all_finite(x)};
}

Values half_or_more(const Values& x) {
  return {at_least(x[0], 0.5)};
}

Values half_or_less(const Values& x) {
  return {at_most(x[0], 0.5)};
}

Values largest(const Values& x) {
  return {largest_magnitude(x)};
}

}  // namespace

std::vector<OpCase> finite_cases() {
  std::vector<OpCase> cases;
  for (const auto& shape : {Shape{kBatch, 7}, Shape{kBatch}, Shape{3, 1, 5}, Shape{}, Shape{3, 400}}) {
    cases.push_back({"check_finite " + to_string(shape), {{shape}}, checked, reference::identity(), 0.0});
    cases.push_back({"all_finite " + to_string(shape), {{shape}, {Shape{}}}, flag, reference::one(), 0.0});
    cases.push_back(
        {"at_least " + to_string(shape), {{shape, Draw::eighths}}, half_or_more, reference::at_least(0.5), 0.0});
    cases.push_back(
        {"at_most " + to_string(shape), {{shape, Draw::eighths}}, half_or_less, reference::at_most(0.5), 0.0});
    cases.push_back({"largest_magnitude " + to_string(shape),
                     {{shape}, {Shape{}}, {Shape{0, 3}}},
                     largest,
                     reference::largest_magnitude(),
                     0.0});
  }
  cases.push_back({"control_dependency",
                   {{{kBatch, 3}}, {{2}}},
                   [](const Values& x) { return Values{control_dependency(x[0], x[1])}; },
                   {[](const Arrays& in) { return Arrays{in[0]}; }, nullptr},
                   0.0});
  return cases;
}

}  // namespace troupe::ops_test
