#include "troupe/ops/softmax.hpp"
#include "troupe/tests/ops/cases/op_cases.hpp"

namespace troupe::ops_test {

namespace {

std::string draw_name(Draw draw) {
  return draw == Draw::large ? " of large numbers" : "";
}

Values softmax_of(const Values& x) {
  return {softmax(x[0])};
}

Values cross_entropy_of(const Values& x) {
  const auto [loss, log_probabilities] = softmax_cross_entropy(x[0], x[1]);
  return {loss, log_probabilities};
}

}  // namespace

std::vector<OpCase> softmax_cases() {
  std::vector<OpCase> cases;
  for (const auto draw : {Draw::uniform, Draw::large}) {
    for (const auto& shape : {Shape{kBatch, 10}, Shape{kBatch, 1}, Shape{4, 3, 17}, Shape{5}, Shape{kBatch, 2, 33}})
      cases.push_back(
          {"softmax " + to_string(shape) + draw_name(draw), {{shape, draw}}, softmax_of, reference::softmax()});
    for (const std::int64_t classes : {1, 2, 10, 37})
      cases.push_back({"softmax_cross_entropy of " + std::to_string(classes) + " classes" + draw_name(draw),
                       {{{kBatch, classes}, draw}, labels(classes)},
                       cross_entropy_of,
                       reference::softmax_cross_entropy()});
  }
  for (const std::int64_t classes : {1, 2, 10})
    // Eighths have equals among them: the first one counts.
    cases.push_back({"count_correct of " + std::to_string(classes) + " classes",
                     {{{kBatch, classes}, Draw::eighths, false}, labels(classes)},
                     [](const Values& x) { return Values{count_correct(x[0], x[1])}; },
                     reference::count_correct(),
                     0.0});
  return cases;
}

}  // namespace troupe::ops_test
