#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <vector>

#include "troupe/strategies/training/predictor.hpp"

namespace troupe {

struct BatchingOptions {
  /// Requests, the calls of predict(), are collected until they have this number of rows together, or until the oldest
  /// request has waited for longest_wait.
  std::int64_t most_rows = 32;
  std::chrono::microseconds longest_wait{1'000};
  /// The name of the predicted output. Empty: the only output of the model.
  std::string output = {};
  /// Number of actors that predict, at most 1,024. Each actor has its own kernels and its own thread.
  int actors = 1;
};

/// Predicts for many threads. Actors with threads of their own predict requests that arrive at about the same time in
/// one batch. Reads the parameters like a Predictor, and may outlive the trainer. Thread-safe.
class BatchingPredictor {
 public:
  using Arrays = Predictor::Arrays;

  /// `fields` describe the rows of the calls; see Predictor. Throws Error if an option is out of range, the model
  /// has no output of the name `options.output`, or no thread can be made for an actor.
  BatchingPredictor(const Runtime& runtime, const Trainer& trainer, const std::vector<Field>& fields,
                    BatchingOptions options = {});
  /// Does not wait for open requests. The actors still answer them.
  ~BatchingPredictor();
  BatchingPredictor(const BatchingPredictor&) = delete;
  BatchingPredictor& operator=(const BatchingPredictor&) = delete;

  /// Predicts the output for one or more rows; see Predictor::predict() for the arrays, which are copied, and for the
  /// result. Returns at once. Do not wait for the future on a worker of the runtime, which may have to compute the
  /// result. Throws Error if the rows do not fit the fields. The future has an exception if the prediction fails, for
  /// example while a run writes to the parameters. If it is an InvalidSample, it names a row of `rows`; other requests
  /// are answered.
  std::future<Tensor> predict(const Arrays& rows);

  /// Number of batches that the actors have predicted so far. A batch whose requests had to be predicted one by one
  /// counts once.
  std::int64_t batches() const;

 private:
  struct Shared;
  void spawn_actors(const std::vector<std::shared_ptr<Predictor>>& predictors);

  Runtime runtime_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace troupe
