#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "troupe/ops/graph/graph.hpp"
#include "troupe/ops/library/conv2d.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/pool.hpp"
#include "troupe/ops/nn/model.hpp"

namespace troupe {

/// A function from values to a value, such as relu, applied to the result of a layer.
using Activation = Value (*)(Value);

/// x [..., N] times weights [N, units], plus bias [units].
struct Dense {
  static constexpr const char* kName = "dense";
  std::int64_t units;
  Activation activation = nullptr;
  Initializer initializer = Initializer::fan_in_uniform();
  bool bias = true;

  Value operator()(Value x) const;
};

/// Convolution of images [B, H, W, C] with `filters` square kernels, plus bias [filters].
struct Conv2d {
  static constexpr const char* kName = "conv";
  std::int64_t filters;
  std::int64_t kernel_size;
  Activation activation = nullptr;
  Conv2dOptions options = {};
  Initializer initializer = Initializer::fan_in_uniform();
  bool bias = true;

  Value operator()(Value x) const;
};

/// The max_pool op as a layer.
struct MaxPool {
  static constexpr const char* kName = "pool";
  MaxPoolOptions options = {};

  Value operator()(Value x) const { return max_pool(x, options); }
};

/// The average_pool op as a layer.
struct AveragePool {
  static constexpr const char* kName = "average";
  AveragePoolOptions options = {};

  Value operator()(Value x) const { return average_pool(x, options); }
};

/// The mean over the pixels of each image, by channel: [B, H, W, C] -> [B, C].
struct GlobalAveragePool {
  static constexpr const char* kName = "average";

  Value operator()(Value x) const;
};

/// All axes but the first in one: [B, ...] -> [B, N].
struct Flatten {
  static constexpr const char* kName = "flatten";

  Value operator()(Value x) const;
};

/// A layer of any type: a function, and a name for the scope of its parameters. A user-defined layer is a struct with
/// kName and a call operator. Activations are layers, too.
class Layer {
 public:
  Layer(Activation activation) : name_("activation"), function_(activation) {}  // NOLINT: implicit, for lists of layers
  template <class T>
  requires requires { T::kName; }
  Layer(T layer) : name_(T::kName), function_(std::move(layer)) {}  // NOLINT: implicit, for lists of layers

  const std::string& name() const { return name_; }
  Value operator()(Value x) const { return function_(x); }

 private:
  std::string name_;
  std::function<Value(Value)> function_;
};

/// Layers one after the other. Each layer's scope is its kind and its number among the layers of that kind:
/// `dense1.weights`.
class Sequential {
 public:
  Sequential(std::initializer_list<Layer> layers) : layers_(layers) {}
  explicit Sequential(std::vector<Layer> layers) : layers_(std::move(layers)) {}

  static constexpr const char* kName = "block";

  Value operator()(Value x) const;

 private:
  std::vector<Layer> layers_;
};

/// activation(body(x) + shortcut(x)); by default without an activation and with x as the shortcut. Source: He and
/// others, "Deep residual learning for image recognition" (CVPR 2016).
struct Residual {
  static constexpr const char* kName = "residual";
  Sequential body;
  Sequential shortcut = Sequential(std::vector<Layer>());
  Activation activation = nullptr;

  Value operator()(Value x) const;
};

}  // namespace troupe
