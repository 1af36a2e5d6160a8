#include "troupe/strategies/training/fit_recordings.hpp"

#include <algorithm>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/store/parameter_store.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/hash.hpp"
#include "troupe/ops/core/regular_file.hpp"
#include "troupe/strategies/training/training_run.hpp"

namespace troupe {

namespace {

/// The names of the values that a store has or, because they were set, will have once a plan claims them.
std::vector<std::string> names_of_values(const ParameterStore& store) {
  auto names = store.unclaimed();
  for (const auto& entry : store.entries()) names.push_back(entry.name);
  std::ranges::sort(names);
  return names;
}

/// Returns a text of the limits that divide a fit into runs.
std::string limits_of(const FitOptions& options) {
  return "for " + std::to_string(options.epochs) + " epochs" +
         (options.max_steps ? ", at most " + std::to_string(*options.max_steps) + " steps" : "") +
         (options.pause_every ? ", pausing every " + std::to_string(*options.pause_every) + " steps" : "");
}

/// Returns a text that identifies the start of a fit: the hash of the parameters and of the optimizer's state, the seed
/// if some parameters still get their start values from it, and the position.
std::string beginning_of(const ParameterStore& store, const Plan& plan, const TrainingPosition& position) {
  const auto names = names_of_values(store);
  Hash values;
  for (const auto& name : names) {
    const auto version = store.newest(name);
    if (!version) continue;
    values.add(name);
    values.add_bytes(version->value.raw(), version->value.bytes());
  }
  const bool complete = std::ranges::all_of(plan.parameters, [&](const PlanParameter& parameter) {
    return !parameter.trainable || std::ranges::binary_search(names, parameter.ref.name);
  });
  return (names.empty() ? "" : "values " + values.hex() + " ") +
         (complete ? "" : "start values of seed " + std::to_string(store.seed()) + " ") + "at step " +
         std::to_string(position.step) + ", batch " + std::to_string(position.batch) + " of epoch " +
         std::to_string(position.epoch);
}

}  // namespace

RunRecords recordings_for(const FitOptions& options, const Plan& plan, const Dataset& data, const ParameterStore& store,
                          const TrainingPosition& position) {
  RunRecords recordings;
  if (options.record.empty() && options.replay.empty()) return recordings;
  const bool keeps_state = std::ranges::any_of(plan.parameters, &PlanParameter::per_replica);
  if (keeps_state && position.step > 0)
    throw Error(options.record.empty() ? "replay" : "record",
                "replicas keep the part of gradients that they have not sent, which no recording has: with such a hook "
                "only the beginning of a training can be recorded");
  const auto beginning = beginning_of(store, plan, position) + ", " + limits_of(options);
  Hash program;
  program.add(hash_of_program(plan));
  program.add(hash_of_text(data.content()));
  if (!options.record.empty()) {
    expect_writable_file("record", options.record);
    recordings.record = std::make_shared<Recording>(program.digest(), beginning);
  }
  if (!options.replay.empty()) {
    auto replay = std::make_shared<const Recording>(Recording::load(options.replay));
    replay->expect(program.digest(), beginning);
    recordings.replay = std::move(replay);
  }
  return recordings;
}

}  // namespace troupe
