// Properties of optimizers, losses and layers over all strategies: a random small training agrees, in every step, with
// the same training in double precision.

#include <cmath>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/plans/test_plans.hpp"
#include "troupe/tests/strategies/training/reference_training.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Draws values until the reference is well conditioned in all steps.
RandomTraining well_conditioned_training(std::uint64_t seed) {
  for (std::uint64_t values = 0;; ++values) {
    auto training = draw_training(seed + 100'000 * (values / 50), values);
    ReferenceTraining reference(training);
    for (std::int64_t step = 0; step < training.steps && reference.well_conditioned(); ++step) reference.step();
    if (reference.well_conditioned()) return training;
  }
}

/// A training by the library beside the reference.
class ComparedTraining {
 public:
  ComparedTraining(const RandomTraining& training, std::uint64_t seed)
      : training_(training), reference_(training), data_(data_of(training)), seed_(seed) {}

  void run() {
    auto store = std::make_shared<ParameterStore>(1);
    for (const auto& parameter : training_.parameters)
      store->set(parameter.name, Tensor::from<float>(Shape(parameter.shape), parameter.start));
    fit(training_.first, store, training_.resumed_at, false);
    if (training_.copied_store) store = copy_of(*store);
    fit(training_.second, store, training_.steps - training_.resumed_at, true);
  }

 private:
  static std::shared_ptr<ParameterStore> copy_of(const ParameterStore& store) {
    auto copy = std::make_shared<ParameterStore>(2);
    for (const auto& name : store.names()) copy->set(name, store.newest(name)->value);
    copy->set_position(store.position());
    return copy;
  }

  void fit(const StrategyChoice& choice, const std::shared_ptr<ParameterStore>& store, std::int64_t steps, bool last) {
    const auto strategy = strategy_of(choice);
    TrainerOptions options{.grain = training_.grain, .parameters = store, .name = ParameterStore::kTrainer};
    for (int part = 1; part < choice.parts; ++part) options.other_parts.push_back(scheduled_runtime(seed_ + 1));
    const auto runtime = scheduled_runtime(seed_);
    Trainer trainer(runtime, *strategy, model_of(training_), optimizer_of(training_), loss_of(training_), options);
    const auto compare = [&] {
      reference_.step();
      expected_losses_.push_back(reference_.loss());
      compare_values(*store, ++steps_);
    };
    FitOptions fit{.epochs = steps, .max_steps = steps, .on_non_finite_loss = NonFiniteLoss::skip};
    fit.on_step = [&](const StepMetrics& step) { losses_.push_back(step.finite() ? step.loss : std::nan("")); };
    if (training_.pauses) {
      fit.pause_every = 1;
      fit.on_pause = [&](const Metrics&) { compare(); };
      if (steps > 0) trainer.fit(data_, fit);
    } else {
      fit.max_steps = 1;
      for (std::int64_t step = 0; step < steps; ++step) {
        trainer.fit(data_, fit);
        compare();
      }
    }
    if (last) compare_evaluation(trainer);
    compare_losses();
  }

  /// Compares the losses of steps that were applied whole.
  void compare_losses() const {
    REQUIRE(losses_.size() == expected_losses_.size());
    for (std::size_t i = 0; i < losses_.size(); ++i)
      if (std::isfinite(expected_losses_[i]))
        CHECK(losses_[i] == Approx(expected_losses_[i]).epsilon(2e-6 * static_cast<double>(i + 1)));
  }

  /// Checks that no step puts an element of a parameter, a buffer or an average off by more than 1e-6 of it, or of the
  /// rate.
  void compare_values(const ParameterStore& store, std::int64_t steps) {
    INFO("after " << steps << " steps");
    for (const auto& [name, expected] : reference_.values()) {
      const auto value = store.newest(name)->value;
      const auto elements = value.data<float>();
      REQUIRE(elements.size() == expected.size());
      auto& bounds = bounds_[name];
      bounds.resize(expected.size());
      const bool in_group = training_.in_group(name.substr(0, name.find('/')));
      const auto lr = in_group ? training_.optimizer.of_group->lr : training_.optimizer.rule.lr;
      for (std::size_t i = 0; i < elements.size(); ++i) {
        bounds[i] += 1e-6 * std::max(std::abs(expected[i]), lr);
        if (std::abs(elements[i] - expected[i]) <= bounds[i]) continue;
        INFO(name << "[" << i << "]: " << elements[i] << " for " << expected[i] << ", off by "
                  << (elements[i] - expected[i]) / bounds[i] << " bounds");
        CHECK(std::abs(elements[i] - expected[i]) <= bounds[i]);
      }
    }
  }

  void compare_evaluation(Trainer& trainer) {
    const auto expected = reference_.evaluate();
    if (!std::isfinite(expected)) return;
    CHECK(trainer.evaluate(data_).loss == Approx(expected).epsilon(2e-6 * static_cast<double>(steps_)));
  }

  const RandomTraining& training_;
  ReferenceTraining reference_;
  Dataset data_;
  std::uint64_t seed_;
  std::vector<double> losses_, expected_losses_;
  std::int64_t steps_ = 0;
  /// The largest difference that is allowed, by element.
  std::map<std::string, std::vector<double>> bounds_;
};

}  // namespace

TEST_CASE("a random training agrees with double precision in every step", "[property]") {
  constexpr std::uint64_t kTrainings = 200;
  for (auto seed = fuzz_seed(); seed < fuzz_seed() + schedules(kTrainings); ++seed) {
    const auto training = well_conditioned_training(seed);
    INFO("seed " << seed << "\n" << training.text());
    try {
      ComparedTraining(training, seed).run();
    } catch (const std::exception& error) {
      FAIL_CHECK(error.what());
    }
  }
}
