#include "troupe/tests/plans/plan_interpreter.hpp"

#include <algorithm>
#include <utility>

#include "troupe/tests/plans/random_arithmetic.hpp"

namespace troupe::testing {

namespace {

/// Computes what an actor makes in a step, once.
class Interpreter {
 public:
  Interpreter(const Plan& plan, const std::vector<ParameterChange>& changes) : plan_(plan), changes_(changes) {}

  std::vector<Values> inputs(ActorId id, std::int64_t step) {
    std::vector<Values> values;
    for (const auto& input : plan_.actors[id].inputs) {
      Values whole;
      if (input.parameter) {
        whole = seen(id, step - 1, step);
      } else {
        const auto& edge = plan_.edges[input.edge];
        whole = seen(edge.producer, step - edge.initial_tokens, step);
      }
      const auto first = static_cast<std::ptrdiff_t>(input.byte_offset / sizeof(float));
      values.emplace_back(whole.begin() + first, whole.begin() + first + input.info.shape.elements());
    }
    return values;
  }

 private:
  /// What an actor made in step `made_in`, as it is read in step `read_in`.
  Values seen(ActorId id, std::int64_t made_in, std::int64_t read_in) {
    auto values = made(id, made_in);
    if (!plan_.actors[id].outputs[0].parameter) return values;
    for (const auto& change : changes_)
      if (made_in < change.step && change.step <= read_in) std::ranges::fill(values, change.value);
    return values;
  }

  Values made(ActorId id, std::int64_t step) {
    const auto& actor = plan_.actors[id];
    const auto size = static_cast<std::size_t>(actor.outputs[0].info.shape.elements());
    if (step < 0) return Values(size, actor.outputs[0].parameter ? static_cast<float>(id) : 0.0F);
    const auto [entry, is_new] = made_.try_emplace({id, step});
    if (!is_new) return entry->second;
    Values values(size);
    const auto read = actor.role == ActorRole::source ? std::vector<Values>{} : inputs(id, step);
    for (std::size_t k = 0; k < size; ++k)
      values[k] = actor.role == ActorRole::source ? from_source(id, static_cast<std::int64_t>(k), step)
                                                  : combine(id, static_cast<std::int64_t>(k), read);
    return made_[{id, step}] = values;
  }

  const Plan& plan_;
  const std::vector<ParameterChange>& changes_;
  std::map<std::pair<ActorId, std::int64_t>, Values> made_;
};

}  // namespace

SinkRecord expected_record(const Plan& plan, std::int64_t steps, const std::vector<ParameterChange>& changes) {
  Interpreter interpreter(plan, changes);
  SinkRecord expected;
  for (ActorId id = 0; id < static_cast<ActorId>(plan.actors.size()); ++id) {
    if (plan.actors[id].role != ActorRole::sink) continue;
    auto& values = expected[id];
    for (std::int64_t step = 0; step < steps; ++step)
      for (const auto& input : interpreter.inputs(id, step)) values.insert(values.end(), input.begin(), input.end());
  }
  return expected;
}

}  // namespace troupe::testing
