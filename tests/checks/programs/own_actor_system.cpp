// Training inside a program that has its own actor system and messages. Nothing blocks: the coach, an actor of
// the program, starts a fit, hears of its progress by a message, goes on with other work, and reports the result.

#include <caf/all.hpp>
#include <cstdio>

#include "troupe/actors/run/messages.hpp"
#include "troupe/ops/nn/layers.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/training/trainer.hpp"

struct FitProgressed {};
struct FitEnded {
  double first_loss = 0.0, last_loss = 0.0;
  int epochs = 0, asides = 0;
};
struct Aside {};

CAF_BEGIN_TYPE_ID_BLOCK(program, caf::first_custom_type_id)
CAF_ADD_TYPE_ID(program, (FitProgressed))
CAF_ADD_TYPE_ID(program, (FitEnded))
CAF_ADD_TYPE_ID(program, (Aside))
CAF_END_TYPE_ID_BLOCK(program)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(FitProgressed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(FitEnded)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(Aside)

namespace {

using namespace troupe;

/// y = 3 x - 1.
Dataset line(std::int64_t rows) {
  const auto x = [rows](std::int64_t row) { return static_cast<float>(row * 7 % rows) / static_cast<float>(rows); };
  return Dataset::of_rows(rows)
      .with_function<float>("x", {1}, [x](std::int64_t row, std::span<float> to) { to[0] = x(row); })
      .with_function<float>("y", {1}, [x](std::int64_t row, std::span<float> to) { to[0] = 3.0F * x(row) - 1.0F; });
}

class Coach : public caf::event_based_actor {
 public:
  Coach(caf::actor_config& config, std::shared_ptr<Trainer> trainer, caf::actor listener)
      : event_based_actor(config), trainer_(std::move(trainer)), listener_(std::move(listener)) {}

  caf::behavior make_behavior() override {
    const auto note_epoch = [this](const EpochMetrics& epoch) {
      if (++ended_.epochs == 1) ended_.first_loss = epoch.training.loss;
      ended_.last_loss = epoch.training.loss;
    };
    run_ = trainer_->start(line(64).batch(8), {.epochs = 40, .on_epoch = note_epoch});
    run_->on_progress([me = caf::actor_cast<caf::actor>(this)] { caf::anon_send(me, FitProgressed{}); });
    send(this, Aside{});
    return {[this](const FitProgressed&) { advance(); },
            [this](const Aside&) {
              ++ended_.asides;
              if (run_) delayed_send(this, std::chrono::milliseconds(1), Aside{});
            }};
  }

 private:
  void advance() {
    if (!run_ || !run_->advance()) return;
    run_.reset();
    send(listener_, ended_);
    quit();
  }

  std::shared_ptr<Trainer> trainer_;
  caf::actor listener_;
  std::unique_ptr<TrainingRun> run_;
  FitEnded ended_;
};

}  // namespace

int main() {
  caf::actor_system_config config;
  config.add_message_types<caf::id_block::troupe>();
  config.add_message_types<caf::id_block::program>();
  caf::actor_system system{config};
  const Runtime runtime{system, {.cpu_devices = 2}};
  const Mirrored strategy{runtime.devices()};
  const auto trainer =
      std::make_shared<Trainer>(runtime, strategy, Sequential{Dense{1}}, Sgd{.lr = 0.1}, MeanSquaredError{});
  caf::scoped_actor self{system};
  self->spawn<Coach>(trainer, caf::actor_cast<caf::actor>(self));
  FitEnded ended;
  self->receive([&](const FitEnded& fit) { ended = fit; },
                caf::after(std::chrono::seconds(60)) >> [] { std::puts("no answer"); });
  std::printf("%d epochs, loss %.4f to %.6f, %d asides\n", ended.epochs, ended.first_loss, ended.last_loss,
              ended.asides);
  return ended.epochs == 40 && ended.asides > 0 && ended.last_loss < 0.01 * ended.first_loss ? 0 : 1;
}
