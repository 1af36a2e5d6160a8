#include "troupe/strategies/checkpoint/fit_checkpoints.hpp"

#include <cstdio>
#include <utility>

#include "troupe/ops/core/error.hpp"
#include "troupe/strategies/checkpoint/checkpoint_folder.hpp"

namespace troupe {

FitCheckpoints::FitCheckpoints(Checkpoints options, std::shared_ptr<const ParameterStore> store, std::int64_t step,
                               bool writes)
    : options_(std::move(options)), store_(std::move(store)), written_(step) {
  if (!writes) return;
  writer_.emplace(options_.folder);
  const auto steps = checkpoint_steps(options_.folder);
  if (!steps.empty() && steps.back() > step)
    throw Error(kCheckpointPlace, "'" + options_.folder + "' has a checkpoint of step " + std::to_string(steps.back()) +
                                      ", but the training is at step " + std::to_string(step) +
                                      ": call Trainer::resume(), use another folder, or discard the later checkpoints");
}

void FitCheckpoints::add_source(std::string name, std::shared_ptr<const DataPositions> positions, std::string trainer) {
  source_ = Source{std::move(name), std::move(positions), std::move(trainer)};
}

std::int64_t FitCheckpoints::steps_left(std::int64_t step) const {
  return options_.every_steps - step % options_.every_steps;
}

bool FitCheckpoints::is_due(std::int64_t step) const {
  return step != written_ && step % options_.every_steps == 0;
}

Checkpoint FitCheckpoints::checkpoint() const {
  auto checkpoint = checkpoint_of(*store_, options_.texts);
  if (!source_) return checkpoint;
  const auto& next = checkpoint.positions[source_->trainer];
  if (auto position = source_->positions->at(next.epoch, next.batch))
    checkpoint.data[source_->name] = std::move(*position);
  return checkpoint;
}

void FitCheckpoints::write(std::int64_t step) {
  if (std::exchange(written_, step) == step || !writer_) return;
  try {
    writer_->write(checkpoint());
    writer_->keep_newest(options_.keep_last);
  } catch (const Error& error) {
    if (options_.stop_on_failure) throw;
    std::fprintf(stderr, "%s; training goes on after step %lld\n", error.what(), static_cast<long long>(step));
  }
}

}  // namespace troupe
