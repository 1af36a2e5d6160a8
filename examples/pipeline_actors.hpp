#pragma once

#include <array>
#include <cstdio>
#include <vector>

#include "troupe/actors/ports/port_actor.hpp"

namespace troupe::examples {

inline const TensorInfo kReading{Shape{3}, DType::float32};

/// A source of five readings.
class Sensor : public PortActor {
  using PortActor::PortActor;
  bool has_step(std::int64_t step) override { return step < 5; }
  void fire(std::int64_t step, std::span<const Tensor>, std::span<Tensor> outputs) override {
    const auto reading = static_cast<float>(step * step);
    outputs[0] = Tensor::from<float>(kReading.shape, std::vector<float>{reading, -reading, 1.0F});
  }
};

/// A moving average.
class Smoother : public PortActor {
 public:
  Smoother(caf::actor_config& config, float keep) : PortActor(config), keep_(keep) {}

 private:
  void fire(std::int64_t, std::span<const Tensor> inputs, std::span<Tensor> outputs) override {
    outputs[0] = Tensor(kReading.shape, kReading.dtype);
    for (std::size_t i = 0; i < memory_.size(); ++i)
      outputs[0].mutable_data<float>()[i] = memory_[i] =
          keep_ * memory_[i] + (1.0F - keep_) * inputs[0].data<float>()[i];
  }
  float keep_;
  std::array<float, 3> memory_{};
};

/// Prints the tensors that arrive.
class Printer : public PortActor {
  using PortActor::PortActor;
  void fire(std::int64_t step, std::span<const Tensor> inputs, std::span<Tensor>) override {
    const auto values = inputs[0].data<float>();
    std::printf("step %lld: %6.2f %6.2f %6.2f\n", static_cast<long long>(step), values[0], values[1], values[2]);
  }
};

}  // namespace troupe::examples
