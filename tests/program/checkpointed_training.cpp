// checkpointed_training FOLDER STEPS [THREADS]: trains on two replicas from the newest checkpoint in a folder on, up to
// STEPS steps in all, with a checkpoint after every step. Prints the step at which it began, each step of which it has
// written a checkpoint, and at the end a hash of all values. With THREADS, the batches come from a pipeline whose rows
// so many actors compute, in place of a data set.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "troupe/ops/core/hash.hpp"
#include "troupe/ops/nn/layers.hpp"
#include "troupe/ops/nn/normalization.hpp"
#include "troupe/strategies/checkpoint/checkpoint.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/step/pipeline_batches.hpp"
#include "troupe/strategies/training/trainer.hpp"

using namespace troupe;

namespace {

/// Which of two circles a point lies on.
Dataset circles() {
  std::vector<float> points;
  std::vector<std::int32_t> labels;
  for (int row = 0; row < 300; ++row) {
    labels.push_back(row % 2);
    for (const auto part : {std::cos(row), std::sin(row)}) points.push_back(static_cast<float>((1 + row % 2) * part));
  }
  return Dataset::from_arrays({{"points", Tensor::from({300, 2}, points)}, {"labels", Tensor::from({300}, labels)}});
}

/// Batches of points on two circles, from a chain of transforms that keep rows for some time.
Pipeline pipeline_of_circles() {
  const RowFields fields{{"points", DType::float32, {RowField::kVaries}}, {"labels", DType::int32}};
  const auto keep = [](const RowView&, RowRandom& random) { return random.chance(0.9F); };
  const auto arc = [=](const RowView& in) {
    const auto first = in.value<std::int32_t>("first");
    const auto point = [first](std::int64_t index, RowWriter& row) {
      const auto angle = static_cast<float>(first + index), radius = static_cast<float>(1 + index % 2);
      const auto at = row.make<float>("points", {2});
      at[0] = radius * std::cos(angle);
      at[1] = radius * std::sin(angle);
      row.set("labels", Tensor::scalar(static_cast<std::int32_t>(index % 2)));
    };
    return Pipeline::from_function("arc", fields, 10, point).filter(keep).transform();
  };
  const auto jitter = [](const RowView& in, RowWriter& out, RowRandom& random) {
    const auto at = out.make<float>("points", {2});
    for (std::size_t i = 0; i < at.size(); ++i) at[i] = in.values<float>("points")[i] + 0.01F * random.normal();
  };
  const auto firsts = Pipeline::from_function(
      "firsts", {{"first", DType::int32}}, 30,
      [](std::int64_t i, RowWriter& row) { row.set("first", Tensor::scalar(static_cast<std::int32_t>(10 * i))); });
  return firsts.shuffle()
      .interleave(fields, arc, {.cycle = 3, .block = 2})
      .cache()
      .map(jitter)
      .shuffle(40)
      .padded_batch({.rows = 16, .lengths = {2}});
}

/// A hash of all parameters, buffers and states of the optimizer.
std::string hash_of_all(const ParameterStore& store) {
  Hash hash;
  for (const auto& [name, updates, value] : checkpoint_of(store).values) {
    hash.add(name);
    hash.add_bytes(value.raw(), value.bytes());
  }
  return hash.hex();
}

void print(const char* what, std::int64_t step) {
  std::printf("%s %lld\n", what, static_cast<long long>(step));
  std::fflush(stdout);
}

/// `threads` is 0 for a data set.
void train(const std::string& folder, std::int64_t steps, int threads) {
  const Runtime runtime({.cpu_devices = 2});
  const Mirrored strategy{runtime.devices()};
  const Sequential model{Dense{64}, BatchNorm{}, relu, Dropout{0.1}, Dense{2}};
  Trainer trainer{runtime, strategy, model, Adam{}, SoftmaxCrossEntropy{}, {.seed = 7}};
  trainer.resume(folder);
  print("began at step", trainer.steps());
  FitOptions options{.epochs = steps, .max_steps = steps - trainer.steps(), .pause_every = 1};
  // The checkpoint of a step is written after its pause.
  options.on_pause = [&](const Metrics&) { print("wrote step", trainer.steps() - 1); };
  options.checkpoints = Checkpoints{.folder = folder, .every_steps = 1, .stop_on_failure = true};
  if (threads == 0)
    trainer.fit(circles().shuffle().batch(16), options);
  else
    trainer.fit(batch_source("circles", pipeline_of_circles(), {.seed = 5, .threads = threads}), options);
  std::printf("hash %s\n", hash_of_all(trainer.parameters()).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "checkpointed_training: needs a folder, a number of steps and perhaps a number of threads\n");
    return 2;
  }
  try {
    train(argv[1], std::atoll(argv[2]), argc == 4 ? std::atoi(argv[3]) : 0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
