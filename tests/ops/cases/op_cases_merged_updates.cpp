#include "troupe/tests/ops/cases/op_cases.hpp"

#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe::ops_test {

namespace {

/// An update of one parameter: the draws of its states, the inputs after its gradient, and its reference.
struct SingleUpdate {
  std::vector<Draw> states;
  std::vector<CaseInput> shared;
  Reference reference;
  bool counted = false;  ///< the last stored input is the number of updates

  std::size_t stored() const { return 1 + states.size() + (counted ? 1 : 0); }
};

/// Applies the reference of the update of one parameter to each of `parameters` parameters. An update of a parameter
/// without elements changes nothing.
Arrays update_each(const Arrays& in, const Reference& single, std::size_t parameters, std::size_t stored) {
  Arrays results;
  for (std::size_t i = 0; i < parameters; ++i) {
    const auto first = in.begin() + static_cast<std::ptrdiff_t>(i * stored);
    Arrays inputs(first, first + static_cast<std::ptrdiff_t>(stored));
    inputs.push_back(in[parameters * stored + i]);
    inputs.insert(inputs.end(), in.begin() + static_cast<std::ptrdiff_t>(parameters * (stored + 1)), in.end());
    const auto updated =
        first->data.empty() ? Arrays(first, first + static_cast<std::ptrdiff_t>(stored)) : single.forward(inputs);
    results.insert(results.end(), updated.begin(), updated.end());
  }
  return results;
}

OpCase updates_case(const OpDef& op, const std::string& name, const SingleUpdate& update,
                    const std::vector<Shape>& shapes, const Attributes& attributes) {
  std::vector<CaseInput> inputs;
  for (const auto& shape : shapes) {
    inputs.push_back({shape, Draw::uniform, false, 0, true});
    for (auto draw : update.states) inputs.push_back({shape, draw, false, 0, true});
    // Each parameter has had another number of updates.
    if (update.counted) inputs.push_back({{}, Draw::constant, false, static_cast<std::int64_t>(inputs.size()), true});
  }
  for (const auto& shape : shapes) inputs.push_back({shape, Draw::uniform, false});
  inputs.insert(inputs.end(), update.shared.begin(), update.shared.end());
  const auto forward = [single = update.reference, parameters = shapes.size(), stored = update.stored()](
                           const Arrays& in) { return update_each(in, single, parameters, stored); };
  return {std::string(op.name) + " " + name,
          inputs,
          [&op, attributes](const Values& x) { return x[0].builder().apply(op, x, attributes); },
          {forward, nullptr},
          1e-5};
}

/// Shapes of several sizes: one is empty, and one has more elements than a block of threads takes at a time.
const std::vector<Shape> kSome{{7, 5}, {0, 3}, {}, {37, 131}, {1024}, {3}};
const std::vector<Shape> kMany(150, Shape{11});

CaseInput scalar() {
  return {Shape{}, Draw::positive, false};
}

void add_sgd_cases(std::vector<OpCase>& cases) {
  const Attributes plain{{"momentum", 0.0}, {"nesterov", false}, {"weight_decay", 0.1}, {"clipped", false}};
  const auto momentum = plain.with("momentum", 0.9).with("clipped", true);
  const SingleUpdate without{{}, {scalar()}, reference::sgd_update({.weight_decay = 0.1})};
  const SingleUpdate with{{Draw::uniform},
                          {scalar(), scalar()},
                          reference::sgd_update({.momentum = 0.9, .nesterov = true, .weight_decay = 0.1})};
  for (const auto& [name, shapes] : {std::pair{"of some", kSome}, std::pair{"of many", kMany}}) {
    cases.push_back(updates_case(kSgdUpdates, name, without, shapes, plain));
    cases.push_back(updates_case(kSgdUpdates, name + std::string(" with momentum, clipped"), with, shapes,
                                 momentum.with("nesterov", true)));
  }
  cases.push_back(updates_case(kSgdUpdates, "of one", without, {{37, 131}}, plain));
}

void add_adam_cases(std::vector<OpCase>& cases) {
  const reference::AdamOptions options{0.9, 0.99, 1e-3, 0.1};
  const Attributes plain{{"beta1", 0.9},        {"beta2", 0.99},      {"epsilon", 1e-3},
                         {"weight_decay", 0.1}, {"decoupled", false}, {"clipped", false}};
  const SingleUpdate adam{{Draw::uniform, Draw::positive}, {scalar()}, reference::adam_update(options), true};
  auto adamw = adam;
  adamw.reference = reference::adam_update({0.9, 0.99, 1e-3, 0.1, true});
  auto clipped = adam;
  clipped.shared.push_back(scalar());
  for (const auto& [name, shapes] : {std::pair{"of some", kSome}, std::pair{"of many", kMany}}) {
    cases.push_back(updates_case(kAdamUpdates, name, adam, shapes, plain));
    cases.push_back(
        updates_case(kAdamUpdates, name + std::string(", decoupled"), adamw, shapes, plain.with("decoupled", true)));
    cases.push_back(
        updates_case(kAdamUpdates, name + std::string(", clipped"), clipped, shapes, plain.with("clipped", true)));
  }
}

void add_squares_cases(std::vector<OpCase>& cases) {
  const Attributes attributes{
      {"keep", 0.9}, {"add", 0.1}, {"epsilon", 1e-3}, {"weight_decay", 0.1}, {"clipped", false}};
  const SingleUpdate squares{{Draw::positive}, {scalar()}, reference::squares_update(0.9, 0.1, 1e-3, 0.1)};
  cases.push_back(updates_case(kSquaresUpdates, "of some", squares, kSome, attributes));
}

/// An update with a flag of 0, which changes nothing.
OpCase withheld_case() {
  const Attributes attributes{{"momentum", 0.9}, {"nesterov", false}, {"weight_decay", 0.0}, {"clipped", false}};
  const Reference unchanged{[](Arrays in) {
                              in.resize(2);
                              return in;
                            },
                            nullptr};
  const SingleUpdate update{{Draw::uniform}, {scalar(), {Shape{}, Draw::constant, false, 0}}, unchanged};
  auto result = updates_case(kSgdUpdates, "withheld", update, kSome, attributes);
  result.tolerance = 0.0;
  return result;
}

}  // namespace

std::vector<OpCase> merged_update_cases() {
  std::vector<OpCase> cases{withheld_case()};
  add_sgd_cases(cases);
  add_adam_cases(cases);
  add_squares_cases(cases);
  return cases;
}

}  // namespace troupe::ops_test
