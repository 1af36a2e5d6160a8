#pragma once

#include <atomic>
#include <future>
#include <thread>

#include "troupe/strategies/training/trainer.hpp"

namespace troupe {

/// A fit on a thread of its own, for a program that has something else to do. The callbacks of the options are called
/// on that thread. The trainer must outlive it and not be used before its end: a call throws Error, or makes the fit
/// throw it. Do not destroy it in one of its callbacks.
class BackgroundFit {
 public:
  /// Called at the end on the fit's thread, once the result can be had without waiting, whether the fit has succeeded
  /// or not: to wake whoever waits by other means. It must not throw.
  using OnEnd = std::function<void()>;

  /// Starts at once. Bad options are errors of the fit, too.
  BackgroundFit(Trainer& trainer, const Dataset& data, FitOptions options = {}, OnEnd on_end = {});
  /// Stops the fit and waits for its end.
  ~BackgroundFit();
  BackgroundFit(const BackgroundFit&) = delete;
  BackgroundFit& operator=(const BackgroundFit&) = delete;

  /// Ends the fit at a step that is the same for all replicas, within about a tenth of a second. Thread-safe.
  void stop() { stop_ = true; }
  /// True once get() does not wait.
  bool ended() const;
  /// Waits for the end. Rethrows what the fit has thrown.
  FitResult get() const { return result_.get(); }
  /// The same as a future.
  const std::shared_future<FitResult>& result() const { return result_; }

 private:
  std::atomic<bool> stop_{false};
  std::promise<FitResult> promise_;
  std::shared_future<FitResult> result_ = promise_.get_future().share();
  std::thread thread_;
};

}  // namespace troupe
