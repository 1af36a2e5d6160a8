#pragma once

#include <atomic>
#include <future>
#include <thread>

#include "troupe/strategies/training/trainer.hpp"

namespace troupe {

/// A fit on a thread of its own, for a program with other work to do. The callbacks of the options are called on that
/// thread. The trainer must outlive the fit and not be used before its end: a call throws Error, or makes the fit throw
/// it. A callback must not destroy the fit.
class BackgroundFit {
 public:
  /// Called on the fit's thread at the end, whether the fit has succeeded or not. get() does not wait any more then. It
  /// must not throw.
  using OnEnd = std::function<void()>;

  /// Starts the fit. Invalid options are errors of the fit.
  BackgroundFit(Trainer& trainer, const Dataset& data, FitOptions options = {}, OnEnd on_end = {});
  /// Stops the fit and waits for its end.
  ~BackgroundFit();
  BackgroundFit(const BackgroundFit&) = delete;
  BackgroundFit& operator=(const BackgroundFit&) = delete;

  /// Ends the fit within about a tenth of a second, at the same step for all replicas. Thread-safe.
  void stop() { stop_ = true; }
  /// Whether get() returns without waiting.
  bool ended() const;
  /// Waits for the end. Rethrows the exception of the fit.
  FitResult get() const { return result_.get(); }
  /// The result as a future.
  const std::shared_future<FitResult>& result() const { return result_; }

 private:
  std::atomic<bool> stop_{false};
  std::promise<FitResult> promise_;
  std::shared_future<FitResult> result_ = promise_.get_future().share();
  std::thread thread_;
};

}  // namespace troupe
