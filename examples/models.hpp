#pragma once

#include <string>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/nn/layers.hpp"

namespace troupe::examples {

/// A perceptron 784-256-128-10 with relu.
inline Model mlp() {
  return Sequential{Flatten{}, Dense{256, relu}, Dense{128, relu}, Dense{10}};
}

/// Two convolutions 3x3 (32 and 64 filters) with relu and pooling, then 1,600 values into a dense layer of 128.
inline Model cnn() {
  return Sequential{Conv2d{32, 3, relu}, MaxPool{}, Conv2d{64, 3, relu}, MaxPool{}, Flatten{},
                    Dense{128, relu},    Dense{10}};
}

inline Model model_named(const std::string& name) {
  if (name == "mlp") return mlp();
  if (name == "cnn") return cnn();
  throw Error("model", "there is no model '" + name + "'");
}

}  // namespace troupe::examples
