#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

#include "troupe/ops/graph/graph.hpp"
#include "troupe/ops/library/conv2d.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/pool.hpp"
#include "troupe/ops/nn/model.hpp"

namespace troupe {

/// A function from a value to a value, such as relu, that a layer applies to its result.
using Activation = Value (*)(Value);

/// A fully connected layer. Returns float32 [..., units]: the product of x, float32 [..., N], and trained weights [N,
/// units], plus a trained bias [units] if `bias` is set, then the activation if it is not null. Throws Error if `units`
/// is below 1 or x has fewer than 2 axes.
struct Dense {
  static constexpr const char* kName = "dense";
  std::int64_t units;
  Activation activation = nullptr;
  Initializer initializer = Initializer::fan_in_uniform();
  bool bias = true;

  Value operator()(Value x) const;
};

/// Convolution of x, images float32 [B, H, W, C], with `filters` trained square kernels of kernel_size x kernel_size
/// pixels, plus a trained bias [filters] if `bias` is set, then the activation if it is not null. Returns float32 [B,
/// H', W', filters]; the stride and the padding in `options` determine H' and W'. Throws Error if x has not 4 axes, or
/// if `filters`, `kernel_size` or `options.groups` is below 1.
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

/// A layer that applies the op max_pool to images [B, H, W, C].
struct MaxPool {
  static constexpr const char* kName = "pool";
  MaxPoolOptions options = {};

  Value operator()(Value x) const { return max_pool(x, options); }
};

/// A layer that applies the op average_pool to images [B, H, W, C].
struct AveragePool {
  static constexpr const char* kName = "average";
  AveragePoolOptions options = {};

  Value operator()(Value x) const { return average_pool(x, options); }
};

/// Returns float32 [B, C], the mean of each channel over the pixels of each image. x must be images float32 [B, H, W,
/// C]. Throws Error if x has not 4 axes.
struct GlobalAveragePool {
  static constexpr const char* kName = "average";

  Value operator()(Value x) const;
};

/// Joins all axes of x but the first. Takes [B, ...] and returns [B, N], where N is the product of the joined sizes.
struct Flatten {
  static constexpr const char* kName = "flatten";

  Value operator()(Value x) const;
};

/// A layer of any type: a function from a value to a value, and a name for the scope of its parameters. A user-defined
/// layer is a struct with a static member kName and a call operator. Any other function from a value to a value, such
/// as an Activation or a lambda, is a layer named `activation`.
class Layer {
 public:
  Layer(Activation activation) : name_("activation"), function_(activation) {}  // NOLINT: implicit, for lists of layers
  template <class T>
  requires requires { T::kName; }
  Layer(T layer) : name_(T::kName), function_(std::move(layer)) {}  // NOLINT: implicit, for lists of layers
  template <class Function>
  requires(!std::is_same_v<Function, Layer> && !requires { Function::kName; } &&
           std::is_invocable_r_v<Value, const Function&, Value>)
      Layer(Function function)  // NOLINT: implicit, for lists of layers
      : name_("activation"), function_(std::move(function)) {}

  const std::string& name() const { return name_; }
  Value operator()(Value x) const { return function_(x); }

 private:
  std::string name_;
  std::function<Value(Value)> function_;
};

/// Applies layers one after the other; without layers returns x. The parameters of a layer are in a scope named by its
/// kName and its number, from 1, among the layers of that kName, such as `dense1.weights`.
class Sequential {
 public:
  Sequential(std::initializer_list<Layer> layers) : layers_(layers) {}
  explicit Sequential(std::vector<Layer> layers) : layers_(std::move(layers)) {}

  static constexpr const char* kName = "block";

  Value operator()(Value x) const;

 private:
  std::vector<Layer> layers_;
};

/// Returns activation(body(x) + shortcut(x)), or the sum itself if the activation is null. The default shortcut returns
/// x. Throws Error if the results of body and shortcut differ in shape or dtype. Source: He and others, "Deep residual
/// learning for image recognition" (CVPR 2016).
struct Residual {
  static constexpr const char* kName = "residual";
  Sequential body;
  Sequential shortcut = Sequential(std::vector<Layer>());
  Activation activation = nullptr;

  Value operator()(Value x) const;
};

}  // namespace troupe
