// Training inside a program that has its own actor system and messages. Nothing blocks: the coach, an actor of
// the program, starts a fit, hears of its progress by a message, and reports the result.

#include <caf/all.hpp>
#include <cstdio>

#include "troupe/actors/caf/mail.hpp"
#include "troupe/actors/caf/register_messages.hpp"
#include "troupe/actors/messages/messages.hpp"
#include "troupe/ops/nn/layers.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/training/trainer.hpp"

struct FitProgressed {};
struct FitEnded {
  std::vector<double> losses;  // of every epoch
};

CAF_BEGIN_TYPE_ID_BLOCK(program, caf::first_custom_type_id)
CAF_ADD_TYPE_ID(program, (FitProgressed))
CAF_ADD_TYPE_ID(program, (FitEnded))
CAF_END_TYPE_ID_BLOCK(program)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(FitProgressed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(FitEnded)

namespace {

using namespace troupe;

/// y = 3 x - 1.
Dataset line() {
  std::vector<float> x(64), y;
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7 % 64) / 64.0F;
  for (const auto number : x) y.push_back(3.0F * number - 1.0F);
  return Dataset::from_arrays({{"x", Tensor::from<float>({64, 1}, x)}, {"y", Tensor::from<float>({64, 1}, y)}});
}

class Coach : public caf::event_based_actor {
 public:
  Coach(caf::actor_config& config, std::shared_ptr<Trainer> trainer, caf::actor listener)
      : event_based_actor(config), trainer_(std::move(trainer)), listener_(std::move(listener)) {}

  caf::behavior make_behavior() override {
    const auto note_epoch = [this](const EpochMetrics& epoch) { ended_.losses.push_back(epoch.training.loss); };
    run_ = trainer_->start(line().batch(8), {.epochs = 40, .on_epoch = note_epoch});
    run_->on_progress([me = caf::actor_cast<caf::actor>(this)] { post(me, FitProgressed{}); });
    return {[this](const FitProgressed&) {
      if (!run_ || !run_->advance()) return;
      run_.reset();
      tell(*this, listener_, ended_);
      quit();
    }};
  }

 private:
  std::shared_ptr<Trainer> trainer_;
  caf::actor listener_;
  std::unique_ptr<TrainingRun> run_;
  FitEnded ended_;
};

}  // namespace

int main() {
  caf::actor_system_config config;
  register_messages<caf::id_block::troupe, caf::id_block::program>(config);
  caf::actor_system system{config};
  const Runtime runtime{system, {.cpu_devices = 2}};
  const Mirrored strategy{runtime.devices()};
  const auto trainer =
      std::make_shared<Trainer>(runtime, strategy, Sequential{Dense{1}}, Sgd{.lr = 0.1}, MeanSquaredError{});
  caf::scoped_actor self{system};
  self->spawn<Coach>(trainer, caf::actor_cast<caf::actor>(self));
  std::vector<double> losses(1);
  self->receive([&](const FitEnded& fit) { losses = fit.losses; },
                caf::after(std::chrono::seconds(60)) >> [] { std::puts("no answer"); });
  std::printf("%zu epochs, loss %.4f to %.6f\n", losses.size(), losses.front(), losses.back());
  return losses.size() == 40 && losses.back() < 0.01 * losses.front() ? 0 : 1;
}
