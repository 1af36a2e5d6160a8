#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "troupe/actors/plan/plan_fwd.hpp"
#include "troupe/ops/core/tensor.hpp"
#include "troupe/ops/data/dataset.hpp"

namespace troupe {

struct TrainingSpec;

/// An output of a model for all rows of a data set. The sinks of a prediction plan, the actors that receive the output
/// of their replica, write the rows.
class PredictedRows {
 public:
  /// All rows are zero. `output` names the output; empty: the only one. Throws Error if there is no such output, if
  /// `output` is empty and the model has several outputs, or if the output does not have one row per sample.
  PredictedRows(const TrainingSpec& spec, const Dataset& data, const std::string& output);

  /// The name of the output in the graph of the prediction, which is the first input of a sink. The second one is the
  /// batch info.
  const std::string& graph_output() const { return graph_output_; }
  /// Returns a factory that makes the task of each sink.
  TaskFactory sink() const;
  /// The number of rows that the sinks have written.
  std::int64_t written() const { return *written_; }
  const Tensor& rows() const { return rows_; }

 private:
  std::string graph_output_;
  Tensor rows_;
  std::size_t row_bytes_ = 0;
  std::int64_t batch_rows_ = 0;
  std::shared_ptr<std::atomic<std::int64_t>> written_ = std::make_shared<std::atomic<std::int64_t>>(0);
};

}  // namespace troupe
