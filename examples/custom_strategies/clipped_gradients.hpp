#pragma once

#include <cmath>
#include <memory>

#include "troupe/actors/ports/port_actor.hpp"
#include "troupe/strategies/parameter_server.hpp"

/// Scales gradients down to a largest length, on their way from a worker to a shard. The first element of a block of
/// gradients is the magnitude, by which the shard decides whether the gradients are finite. It stays unchanged.
class GradientClipper final : public troupe::PortActor {
 public:
  GradientClipper(caf::actor_config& config, float max_norm) : PortActor(config), max_norm_(max_norm) {}

 private:
  void fire(std::int64_t, std::span<const troupe::Tensor> inputs, std::span<troupe::Tensor> outputs) override {
    outputs[0] = inputs[0].clone();
    const auto gradients = outputs[0].mutable_data<float>().subspan(1);
    double squares = 0.0;
    for (const auto element : gradients) squares += static_cast<double>(element) * element;
    const auto norm = static_cast<float>(std::sqrt(squares));
    if (norm <= max_norm_) return;
    for (auto& element : gradients) element *= max_norm_ / norm;
  }

  const float max_norm_;
};

/// Asynchronous parameter servers with a GradientClipper between every worker and its server.
inline std::unique_ptr<troupe::Strategy> clipped_server(const std::vector<troupe::Place>& workers, float longest) {
  troupe::ServerOptions options;
  options.gradient_actor = [longest](const troupe::TensorInfo& gradients, int worker) {
    return troupe::external<GradientClipper>("clipper@" + std::to_string(worker), {{gradients}, {gradients}}, longest);
  };
  return std::make_unique<troupe::ParameterServer>(
      workers, std::vector{workers.at(0)}, troupe::ConsistencyRule::asynchronous(static_cast<int>(workers.size())),
      options);
}
