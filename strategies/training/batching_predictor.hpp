#pragma once

#include <chrono>
#include <future>
#include <memory>

#include "troupe/strategies/training/predictor.hpp"

namespace troupe {

struct BatchingOptions {
  /// Requests are gathered until they have so many rows together ...
  std::int64_t most_rows = 32;
  /// ... or the oldest has waited so long.
  std::chrono::microseconds longest_wait{1000};
  /// The output that is predicted; empty: the only one.
  std::string output = {};
  /// Actors that predict, each with kernels of its own.
  int actors = 1;
};

/// Serves the predictions of many threads: requests that come at the same time are answered together, by actors of the
/// runtime. Thread-safe. It reads the parameters as a Predictor does, and may outlive the trainer.
class BatchingPredictor {
 public:
  using Arrays = Predictor::Arrays;

  /// `fields` as for Predictor. Throws Error if an option is out of range, or there is no such output.
  BatchingPredictor(const Runtime& runtime, const Trainer& trainer, const std::vector<Field>& fields,
                    BatchingOptions options = {});
  /// Answers what has been asked, without waiting for it.
  ~BatchingPredictor();
  BatchingPredictor(const BatchingPredictor&) = delete;
  BatchingPredictor& operator=(const BatchingPredictor&) = delete;

  /// The output for one or more rows, [rows, ...], like Predictor::predict. Returns at once; do not wait for the future
  /// on a worker of the runtime. Throws Error for rows that do not fit the fields. The future has the exception if the
  /// prediction fails, as while a run writes to the parameters.
  std::future<Tensor> predict(const Arrays& rows);

  /// Calls of the kernels so far.
  std::int64_t batches() const;

 private:
  struct Shared;
  Runtime runtime_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace troupe
