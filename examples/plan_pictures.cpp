// plan_pictures FOLDER: writes the pictures of docs/pictures as text for Graphviz, and the plan of docs/credits.md as
// plan.txt. The pictures show one training step of a perceptron on two replicas, from the graph to the messages, and
// its plan under other strategies. The checks tests/checks/pictures and tests/checks/documents compare them.

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>

#include "troupe/actors/plan/grain.hpp"
#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/plan/plan_dot.hpp"
#include "troupe/actors/plan/plan_text.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/graph/print.hpp"
#include "troupe/ops/nn/layers.hpp"
#include "troupe/strategies/local_sgd.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/one_device.hpp"
#include "troupe/strategies/parameter_server.hpp"

using namespace troupe;

namespace {

void write_file(const std::filesystem::path& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
  if (!out.flush()) throw Error("output", "'" + file.string() + "' cannot be written");
}

const std::vector<Place> kTwoCores{{0, {DeviceType::cpu, 0}}, {0, {DeviceType::cpu, 1}}};

void write_pictures(const std::filesystem::path& folder) {
  const TrainingSpec spec{Sequential{Dense{8, relu}, Dense{3}}, SoftmaxCrossEntropy{}, Sgd{.lr = 0.1},
                          std::vector<Metric>{}};
  const auto data = Dataset(Tensor({64, 4}, DType::float32), Tensor({64}, DType::int32), 3).batch(8);
  const auto plan_of = [&](const Strategy& strategy) {
    return fuse(strategy.training_plan({spec, data, 0, {names::kLoss}}));
  };
  const auto plan = plan_of(Mirrored(kTwoCores));
  const DotOptions segments{.level = DotLevel::segments, .lanes = DotLanes::by_replica};

  write_file(folder / "graph.dot", to_dot(training_graph(spec, data.fields(), unreduced(spec))));
  write_file(folder / "plan.dot", to_dot(plan, {.level = DotLevel::actors, .lanes = DotLanes::by_replica}));
  write_file(folder / "segments.dot", to_dot(plan, segments));
  write_file(folder / "messages.dot",
             to_dot(plan, {.level = DotLevel::segments, .lanes = DotLanes::by_replica, .numbered = true}));

  write_file(folder / "one_device.dot", to_dot(plan_of(OneDevice()), segments));
  write_file(folder / "parameter_server.dot",
             to_dot(plan_of(ParameterServer(kTwoCores, {Place{}}, ConsistencyRule::asynchronous(2))), segments));
  write_file(folder / "local_sgd.dot", to_dot(plan_of(LocalSgd(kTwoCores, {Place{}})), segments));
}

/// A dense layer under Mirrored.
void write_text(const std::filesystem::path& folder) {
  const TrainingSpec spec{Sequential{Dense{2}}, MeanSquaredError{}, Sgd{.lr = 0.1}, std::vector<Metric>{}};
  const Tensor x({64, 4}, DType::float32), y({64, 2}, DType::float32);
  const auto data = Dataset::from_arrays({{"x", x}, {"y", y}}).batch(8);
  const auto plan = Mirrored(kTwoCores).training_plan({spec, data, 0, {names::kLoss}});
  write_file(folder / "plan.txt", to_text(plan));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: plan_pictures FOLDER\n");
    return 2;
  }
  try {
    write_pictures(argv[1]);
    write_text(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "plan_pictures: %s\n", error.what());
    return 1;
  }
}
