// A perceptron on Fashion-MNIST, a replica on every core.

#include <cstdio>

#include "troupe/ops/data/fashion_mnist.hpp"
#include "troupe/ops/nn/layers.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/training/trainer.hpp"

using namespace troupe;

int main() {
  Runtime runtime;
  const auto train = fashion_mnist(Split::train).shuffle(60'000).batch(128);
  const auto test = fashion_mnist(Split::test).batch(1000);
  const Sequential model{Flatten{}, Dense{256, relu}, Dense{128, relu}, Dense{10}};
  const Mirrored strategy{runtime.devices()};
  Trainer trainer{runtime, strategy, model, Adam{.lr = 0.001}, SoftmaxCrossEntropy{}};

  trainer.fit(train, {.epochs = 3, .on_epoch = [](const EpochMetrics& epoch) {
                        std::printf("epoch %lld: loss %.4f, %.0f samples/s\n", static_cast<long long>(epoch.epoch + 1),
                                    epoch.training.loss, static_cast<double>(epoch.training.rows) / epoch.seconds);
                      }});
  std::printf("test accuracy %.4f\n", trainer.evaluate(test)["accuracy"]);
}
