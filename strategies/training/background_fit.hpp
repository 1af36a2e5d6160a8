#pragma once

#include <atomic>
#include <future>
#include <thread>

#include "troupe/strategies/training/trainer.hpp"

namespace troupe {

/// Runs Trainer::fit() on a new thread, so that the calling thread can do other work. The callbacks of the options are
/// called on that thread. The trainer must outlive this object. Before the fit has ended the trainer must not be used
/// on other threads: such a call throws Error, or the fit does. A callback must not destroy this object.
class BackgroundFit {
 public:
  /// Called on the thread of the fit when the fit has ended, whether it has succeeded or not. From then on get()
  /// returns without waiting. Must not throw.
  using OnEnd = std::function<void()>;

  /// Starts the fit. The constructor does not check the options: get() throws if one is invalid.
  BackgroundFit(Trainer& trainer, const Dataset& data, FitOptions options = {}, OnEnd on_end = {});
  /// Stops the fit and waits for its end.
  ~BackgroundFit();
  BackgroundFit(const BackgroundFit&) = delete;
  BackgroundFit& operator=(const BackgroundFit&) = delete;

  /// Ends the fit at the same step for all replicas. The fit notices the call within about a tenth of a second.
  /// Thread-safe.
  void stop() { stop_ = true; }
  /// Returns true if the fit has ended, so that get() returns without waiting.
  bool ended() const;
  /// Waits for the end of the fit and returns its result. Rethrows the exception of the fit.
  FitResult get() const { return result_.get(); }
  /// The result of the fit as a future.
  const std::shared_future<FitResult>& result() const { return result_; }

 private:
  std::atomic<bool> stop_{false};
  std::promise<FitResult> promise_;
  std::shared_future<FitResult> result_ = promise_.get_future().share();
  std::thread thread_;
};

}  // namespace troupe
