#include "troupe/strategies/training/background_fit.hpp"

#include "troupe/ops/core/signals_blocked.hpp"

namespace troupe {

BackgroundFit::BackgroundFit(Trainer& trainer, const Dataset& data, FitOptions options, OnEnd on_end) {
  options.stop_requested = [this, requested = std::move(options.stop_requested)] {
    return stop_ || (requested && requested());
  };
  const SignalsBlocked blocked;
  thread_ = std::thread([this, &trainer, data, options = std::move(options), on_end = std::move(on_end)] {
    try {
      promise_.set_value(trainer.fit(data, options));
    } catch (...) {
      promise_.set_exception(std::current_exception());
    }
    if (on_end) on_end();
  });
}

BackgroundFit::~BackgroundFit() {
  stop();
  thread_.join();
}

bool BackgroundFit::ended() const {
  return result_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

}  // namespace troupe
