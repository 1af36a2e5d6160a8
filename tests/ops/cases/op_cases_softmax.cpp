#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/logsumexp.hpp"
#include "troupe/ops/library/softmax.hpp"
#include "troupe/tests/ops/cases/op_cases.hpp"

namespace troupe::ops_test {

namespace {

std::string draw_name(Draw draw) {
  return draw == Draw::large ? " of large numbers" : "";
}

Values softmax_of(const Values& x) {
  return {softmax(x[0])};
}

Values logsumexp_of(const Values& x) {
  return {logsumexp(x[0])};
}

Values cross_entropy_of(const Values& x) {
  const auto [loss, log_probabilities] = softmax_cross_entropy(x[0], x[1]);
  return {loss, log_probabilities};
}

/// The loss of every row of logits [..., C]: minus the sum over the classes of target times log probability.
Array row_losses(const Array& logits, const std::function<double(std::size_t row, std::size_t c)>& target) {
  const auto log_probabilities = reference::log_softmax().forward({logits})[0];
  const auto width = static_cast<std::size_t>(logits.sizes.back());
  Array loss(Sizes(logits.sizes.begin(), logits.sizes.end() - 1));
  for (std::size_t i = 0; i < log_probabilities.data.size(); ++i)
    loss.data[i / width] -= target(i / width, i % width) * log_probabilities.data[i];
  return loss;
}

OpCase options_case(const Shape& logits, const CrossEntropyOptions& options) {
  const auto classes = logits.back(0);
  const Shape of_rows(logits.sizes().first(logits.rank() - 1));
  const auto forward = [=](const Arrays& in) {
    return Arrays{row_losses(in[0], [&](std::size_t row, std::size_t c) {
      if (options.ignored && in[1].data[row] == *options.ignored) return 0.0;
      const auto right = in[1].data[row] == static_cast<double>(c) ? 1.0 : 0.0;
      return (1.0 - options.smoothing) * right + options.smoothing / static_cast<double>(classes);
    })};
  };
  return forward_case(
      "softmax_cross_entropy " + to_string(logits) + " smoothed by " + std::to_string(options.smoothing) +
          (options.ignored ? " ignoring " + std::to_string(*options.ignored) : ""),
      {{logits}, {of_rows, Draw::labels, false, classes}},
      [options](const Values& x) { return Values{softmax_cross_entropy(x[0], x[1], options).loss}; }, forward);
}

/// The gradient of a cross-entropy with respect to the logits, with a weight for the loss of each row.
OpCase logits_grad_case(const Shape& logits, double smoothing, std::int64_t ignored) {
  const auto classes = logits.back(0);
  const Shape of_rows(logits.sizes().first(logits.rank() - 1));
  const Attributes attributes{{"smoothing", smoothing}, {"ignored", ignored}};
  return forward_case(
      "softmax_cross_entropy_logits_grad " + to_string(logits) + " smoothed by " + std::to_string(smoothing) +
          " ignoring " + std::to_string(ignored),
      {{of_rows, Draw::uniform, false}, {logits, Draw::uniform, false}, {of_rows, Draw::labels, false, classes}},
      [=](const Values& x) {
        return Values{x[0].builder().apply_one(kSoftmaxCrossEntropyLogitsGrad, {x[0], x[1], x[2]}, attributes)};
      },
      [=](const Arrays& in) {
        auto dx = reference::softmax().forward({in[1]})[0];
        const auto width = static_cast<std::size_t>(classes);
        for (std::size_t i = 0; i < dx.data.size(); ++i) {
          const auto label = in[2].data[i / width];
          const auto right = label == static_cast<double>(i % width) ? 1.0 : 0.0;
          dx.data[i] -= (1.0 - smoothing) * right + smoothing / static_cast<double>(classes);
          dx.data[i] *= label == static_cast<double>(ignored) ? 0.0 : in[0].data[i / width];
        }
        return Arrays{dx};
      });
}

OpCase soft_case(const Shape& logits) {
  return forward_case(
      "soft_cross_entropy " + to_string(logits), {{logits}, {logits, Draw::positive, false}},
      [](const Values& x) { return Values{soft_cross_entropy(x[0], x[1])}; },
      [](const Arrays& in) {
        const auto width = static_cast<std::size_t>(in[0].sizes.back());
        return Arrays{row_losses(in[0], [&](std::size_t row, std::size_t c) { return in[1].data[row * width + c]; })};
      });
}

OpCase log_softmax_case(const Shape& shape) {
  return forward_case(
      "log_softmax " + to_string(shape), {{shape}}, [](const Values& x) { return Values{log_softmax(x[0])}; },
      reference::log_softmax().forward);
}

/// The second result of the cross-entropy.
OpCase log_probabilities_case() {
  return forward_case(
      "the log probabilities of softmax_cross_entropy", {{{kBatch, 5}}, labels(5)},
      [](const Values& x) { return Values{softmax_cross_entropy(x[0], x[1]).log_probabilities}; },
      [](const Arrays& in) { return reference::log_softmax().forward({in[0]}); });
}

OpCase count_ignored_case() {
  return exact_case(
      "count_correct over leading axes, ignoring 1",
      {{{kBatch, 3, 4}, Draw::eighths}, {{kBatch, 3}, Draw::labels, false, 4}},
      [](const Values& x) { return Values{count_correct(x[0], x[1], 1)}; },
      [](const Arrays& in) {
        auto flat = in;
        flat[0].sizes = {in[1].elements(), 4};
        flat[1].sizes = {in[1].elements()};
        for (auto& label : flat[1].data)
          if (label == 1.0) label = -1.0;
        return reference::count_correct().forward(flat);
      });
}

}  // namespace

std::vector<OpCase> softmax_cases() {
  std::vector<OpCase> cases;
  for (const auto draw : {Draw::uniform, Draw::large}) {
    for (const auto& shape : {Shape{kBatch, 10}, Shape{kBatch, 1}, Shape{4, 3, 17}, Shape{5}, Shape{kBatch, 2, 33}}) {
      cases.push_back(
          {"softmax " + to_string(shape) + draw_name(draw), {{shape, draw}}, softmax_of, reference::softmax()});
      cases.push_back(
          {"logsumexp " + to_string(shape) + draw_name(draw), {{shape, draw}}, logsumexp_of, reference::logsumexp()});
    }
    for (const std::int64_t classes : {1, 2, 10, 37})
      cases.push_back({"softmax_cross_entropy of " + std::to_string(classes) + " classes" + draw_name(draw),
                       {{{kBatch, classes}, draw}, labels(classes)},
                       cross_entropy_of,
                       reference::softmax_cross_entropy()});
  }
  for (const std::int64_t classes : {1, 2, 10, 37})
    // Eighths contain equal elements, of which the first counts.
    cases.push_back({"count_correct of " + std::to_string(classes) + " classes",
                     {{{kBatch, classes}, Draw::eighths, false}, labels(classes)},
                     [](const Values& x) { return Values{count_correct(x[0], x[1])}; },
                     reference::count_correct(),
                     0.0});
  cases.push_back({"count_correct of many rows",
                   {{{5000, 10}, Draw::eighths, false}, {{5000}, Draw::labels, false, 10}},
                   [](const Values& x) { return Values{count_correct(x[0], x[1])}; },
                   reference::count_correct(),
                   0.0});
  for (const auto& logits : {Shape{kBatch, 3}, Shape{kBatch, 2, 5}, Shape{3, 40}}) {
    cases.push_back(options_case(logits, {.smoothing = 0.1}));
    cases.push_back(options_case(logits, {.ignored = 1}));
    cases.push_back(options_case(logits, {.smoothing = 0.3, .ignored = 0}));
    cases.push_back(logits_grad_case(logits, 0.0, -1));
    cases.push_back(logits_grad_case(logits, 0.2, 1));
    cases.push_back(soft_case(logits));
    cases.push_back(log_softmax_case(logits));
  }
  cases.push_back(log_probabilities_case());
  cases.push_back(count_ignored_case());
  return cases;
}

}  // namespace troupe::ops_test
