#include <cmath>

#include "troupe/tests/ops/cases/reference.hpp"

namespace troupe::ops_test::reference {

namespace {

/// The gradient times the clipping factor, if there is one, plus the weight decay.
Array effective_gradient(const Array& parameter, Array gradient, const Array* factor, double weight_decay) {
  for (std::size_t i = 0; i < gradient.data.size(); ++i)
    gradient.data[i] = gradient.data[i] * (factor ? factor->data[0] : 1.0) + weight_decay * parameter.data[i];
  return gradient;
}

}  // namespace

// Inputs: parameter, velocity if there is a momentum, gradient, rate, optionally a factor.
Reference sgd_update(SgdOptions options) {
  const auto forward = [options](const Arrays& in) {
    const std::size_t at = options.momentum != 0.0 ? 2 : 1;
    const auto rate = in[at + 1].data[0];
    const auto g = effective_gradient(in[0], in[at], in.size() > at + 2 ? &in[at + 2] : nullptr, options.weight_decay);
    Arrays out(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(at));
    for (std::size_t i = 0; i < g.data.size(); ++i) {
      double step = g.data[i];
      if (at == 2) {
        const auto velocity = options.momentum * in[1].data[i] + g.data[i];
        out[1].data[i] = velocity;
        step = options.nesterov ? g.data[i] + options.momentum * velocity : velocity;
      }
      out[0].data[i] = in[0].data[i] - rate * step;
    }
    return out;
  };
  return {forward, nullptr};
}

// Inputs: parameter, m, v, number of updates, gradient, rate, optionally a factor.
Reference adam_update(AdamOptions options) {
  const auto forward = [options](const Arrays& in) {
    const auto g = effective_gradient(in[0], in[4], in.size() > 6 ? &in[6] : nullptr,
                                      options.decoupled ? 0.0 : options.weight_decay);
    const auto kept = options.decoupled ? 1.0 - in[5].data[0] * options.weight_decay : 1.0;
    const auto t = in[3].data[0] + 1.0;
    Arrays out(in.begin(), in.begin() + 4);
    out[3].data[0] = t;
    for (std::size_t i = 0; i < g.data.size(); ++i) {
      const auto m = options.beta1 * in[1].data[i] + (1.0 - options.beta1) * g.data[i];
      const auto v = options.beta2 * in[2].data[i] + (1.0 - options.beta2) * g.data[i] * g.data[i];
      const auto m_hat = m / (1.0 - std::pow(options.beta1, t));
      const auto v_hat = v / (1.0 - std::pow(options.beta2, t));
      out[0].data[i] = kept * in[0].data[i] - in[5].data[0] * m_hat / (std::sqrt(v_hat) + options.epsilon);
      out[1].data[i] = m;
      out[2].data[i] = v;
    }
    return out;
  };
  return {forward, nullptr};
}

// Inputs: parameter, m, v, number of updates, gradient, rate, optionally a factor.
Reference lamb_update(AdamOptions options) {
  const auto forward = [options](const Arrays& in) {
    const auto g = effective_gradient(in[0], in[4], in.size() > 6 ? &in[6] : nullptr, 0.0);
    const auto t = in[3].data[0] + 1.0;
    Arrays out(in.begin(), in.begin() + 4);
    out[3].data[0] = t;
    std::vector<double> step(g.data.size());
    double parameter_squares = 0.0, step_squares = 0.0;
    for (std::size_t i = 0; i < g.data.size(); ++i) {
      out[1].data[i] = options.beta1 * in[1].data[i] + (1.0 - options.beta1) * g.data[i];
      out[2].data[i] = options.beta2 * in[2].data[i] + (1.0 - options.beta2) * g.data[i] * g.data[i];
      const auto m_hat = out[1].data[i] / (1.0 - std::pow(options.beta1, t));
      const auto v_hat = out[2].data[i] / (1.0 - std::pow(options.beta2, t));
      step[i] = m_hat / (std::sqrt(v_hat) + options.epsilon) + options.weight_decay * in[0].data[i];
      parameter_squares += in[0].data[i] * in[0].data[i];
      step_squares += step[i] * step[i];
    }
    const bool has_norms = parameter_squares > 0.0 && step_squares > 0.0;
    const auto trust = has_norms ? std::sqrt(parameter_squares / step_squares) : 1.0;
    for (std::size_t i = 0; i < g.data.size(); ++i) out[0].data[i] = in[0].data[i] - in[5].data[0] * trust * step[i];
    return out;
  };
  return {forward, nullptr};
}

// Inputs: parameter, squares, gradient, rate, optionally a factor.
Reference squares_update(double keep, double add, double epsilon, double weight_decay) {
  const auto forward = [=](const Arrays& in) {
    const auto g = effective_gradient(in[0], in[2], in.size() > 4 ? &in[4] : nullptr, weight_decay);
    Arrays out(in.begin(), in.begin() + 2);
    for (std::size_t i = 0; i < g.data.size(); ++i) {
      out[1].data[i] = keep * in[1].data[i] + add * g.data[i] * g.data[i];
      out[0].data[i] = in[0].data[i] - in[3].data[0] * g.data[i] / (std::sqrt(out[1].data[i]) + epsilon);
    }
    return out;
  };
  return {forward, nullptr};
}

Reference global_norm_factor(double limit) {
  const auto forward = [limit](const Arrays& in) {
    double squares = 0.0;
    for (const auto& gradient : in)
      for (auto element : gradient.data) squares += element * element;
    Array factor(Sizes{});
    factor.data[0] = std::sqrt(squares) > limit ? limit / std::sqrt(squares) : 1.0;
    return Arrays{factor};
  };
  return {forward, nullptr};
}

Reference learning_rate(std::function<double(double step)> rate) {
  const auto forward = [rate](const Arrays& in) {
    Array result(Sizes{});
    result.data[0] = rate(in[0].data[3]);
    return Arrays{result};
  };
  return {forward, nullptr};
}

}  // namespace troupe::ops_test::reference
