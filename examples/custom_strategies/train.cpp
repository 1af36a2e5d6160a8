// A perceptron on Fashion-MNIST with strategies of one's own, in the trainer that the library's strategies use:
//   train gossip|elastic|clipped [REPLICAS [EPOCHS]]

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "clipped_gradients.hpp"
#include "elastic_averaging.hpp"
#include "gossip_ring.hpp"
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

}  // namespace

int main(int argc, char** argv) {
  const int replicas = argc > 2 ? std::atoi(argv[2]) : 2;
  const int epochs = argc > 3 ? std::atoi(argv[3]) : 3;
  std::vector<Place> places;
  for (int i = 0; i < replicas; ++i) places.push_back({0, {DeviceType::cpu, i}});
  const auto strategy = argc > 1 && replicas > 0 ? strategy_named(argv[1], places) : nullptr;
  if (!strategy) {
    std::fprintf(stderr, "usage: train gossip|elastic|clipped [REPLICAS [EPOCHS]]\n");
    return 2;
  }
  const Runtime runtime({.cpu_devices = replicas});
  const auto train = fashion_mnist(Split::train).shuffle(60'000).batch(128);
  const auto test = fashion_mnist(Split::test).batch(1000);
  const Sequential model{Flatten{}, Dense{256, relu}, Dense{128, relu}, Dense{10}};
  Trainer trainer{runtime, *strategy, model, Adam{.lr = 0.001}, SoftmaxCrossEntropy{}, {.seed = 5}};
  const auto result = trainer.fit(train, {.epochs = epochs});
  const auto accuracy = trainer.evaluate(test)["accuracy"];
  std::printf("%s, %d replicas, %d epochs: test accuracy %.4f, %.0f samples/s\n", argv[1], replicas, epochs, accuracy,
              static_cast<double>(result.rows) / result.seconds);
  return accuracy > 0.8 ? 0 : 1;
}
