// Trains a perceptron on Fashion-MNIST with a user's strategy, in the trainer of the library's strategies:
//   train gossip|elastic|clipped [REPLICAS [EPOCHS]]
// REPLICAS is a number of cores. Without it, trains on all GPUs, or on two cores if there is no GPU.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "clipped_gradients.hpp"
#include "elastic_averaging.hpp"
#include "gossip_ring.hpp"
#include "troupe/actors/system/default_devices.hpp"
#include "troupe/ops/data/fashion_mnist.hpp"
#include "troupe/ops/nn/layers.hpp"
#include "troupe/strategies/training/trainer.hpp"

using namespace troupe;

namespace {

std::unique_ptr<Strategy> strategy_named(const std::string& name, const std::vector<Place>& replicas) {
  if (name == "gossip") return std::make_unique<GossipRing>(replicas);
  if (name == "elastic") return std::make_unique<ElasticAveraging>(replicas);
  if (name == "clipped") return clipped_server(replicas, 0.5F);
  return nullptr;
}

std::vector<Device> cores(int count) {
  std::vector<Device> devices;
  for (int i = 0; i < count; ++i) devices.push_back({DeviceType::cpu, i});
  return devices;
}

}  // namespace

int main(int argc, char** argv) {
  const auto replicas = argc > 2 ? cores(std::atoi(argv[2])) : default_devices(2);
  const int epochs = argc > 3 ? std::atoi(argv[3]) : 3;
  const auto strategy = argc > 1 && !replicas.empty() ? strategy_named(argv[1], places_of(replicas)) : nullptr;
  if (!strategy) {
    std::fprintf(stderr, "usage: train gossip|elastic|clipped [REPLICAS [EPOCHS]]\n");
    return 2;
  }
  const Runtime runtime({.cpu_devices = static_cast<int>(replicas.size())});
  const auto train = fashion_mnist(Split::train).shuffle(60'000).batch(128);
  const auto test = fashion_mnist(Split::test).batch(1000);
  const Sequential model{Flatten{}, Dense{256, relu}, Dense{128, relu}, Dense{10}};
  Trainer trainer{runtime, *strategy, model, Adam{.lr = 0.001}, SoftmaxCrossEntropy{}, {.seed = 5}};
  const auto result = trainer.fit(train, {.epochs = epochs});
  const auto accuracy = trainer.evaluate(test)["accuracy"];
  std::printf("%s, %zu replicas, %d epochs: test accuracy %.4f, %.0f samples/s\n", argv[1], replicas.size(), epochs,
              accuracy, static_cast<double>(result.rows) / result.seconds);
  return accuracy > 0.8 ? 0 : 1;
}
