#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "troupe/ops/core/random.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/graph/program.hpp"
#include "troupe/strategies/step/gradient_hook.hpp"
#include "troupe/tests/catch.hpp"

namespace troupe::testing {

inline std::vector<float> elements(const Tensor& tensor) {
  return {tensor.data<float>().begin(), tensor.data<float>().end()};
}

inline Tensor random_tensor(const Shape& shape, std::uint64_t seed) {
  Tensor tensor(shape, DType::float32);
  auto data = tensor.mutable_data<float>();
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = uniform(seed, 1, i) - 0.5F;
  return tensor;
}

/// Sends one gradient through a hook, step by step: encodes and decodes it.
class Sender {
 public:
  Sender(const GradientHook& hook, const Shape& shape) : gradient_(shape, DType::float32) {
    GraphBuilder builder;
    const auto gradient = builder.input("gradient", shape), flag = builder.input("apply_if", {});
    GradientHook::NextStates next_states;
    const auto encoded = hook.encode(std::vector{gradient}, {"site", next_states});
    set_states(next_states, flag);
    builder.output("encoded", encoded);
    builder.output("decoded", hook.decode(encoded, std::vector{shape}).front());
    auto graph = std::move(builder).build();
    for (const auto id : graph.sources(kParameter)) {
      const auto& node = graph.producer(id);
      CHECK(node.attributes.has(kPerReplica));
      auto& state = states_[node.name] = Tensor(graph.info(id).shape, DType::float32);
      node.initializer.fill(state, 5, 0);
    }
    program_.emplace(std::move(graph), 1);
    program_->bind("gradient", gradient_);
    program_->bind("apply_if", apply_if_);
    for (const auto& [name, state] : states_) program_->bind(name, state);
  }

  Tensor send(const Tensor& gradient, float apply_if = 1.0F) {
    copy_and_wait(gradient, gradient_);
    apply_if_.mutable_data<float>()[0] = apply_if;
    program_->run();
    return program_->output("decoded").clone();
  }
  std::int64_t sent_elements() const { return program_->output("encoded").elements(); }
  std::vector<float> state(const std::string& name) const { return elements(states_.at("site/" + name)); }

 private:
  Tensor gradient_, apply_if_ = Tensor::scalar(1.0F);
  std::map<std::string, Tensor> states_;
  std::optional<Program> program_;
};

}  // namespace troupe::testing
