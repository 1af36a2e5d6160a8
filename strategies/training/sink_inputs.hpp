#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "troupe/actors/task/task.hpp"
#include "troupe/strategies/step/training_graph.hpp"
#include "troupe/strategies/training/metrics.hpp"

namespace troupe {

/// The inputs of a sink, the actor that receives the loss and the metrics of its replica: the loss, the sum and count
/// of each metric, the sum and weight of each mean of a loss that divides by weights, in a training the magnitude, and
/// last the batch info (step and rows of the batch).
class SinkInputs {
 public:
  /// `magnitude`: the inputs have names::kMagnitude.
  SinkInputs(const TrainingSpec& spec, const std::vector<Field>& fields, bool magnitude);

  /// The names of the graph's outputs that are the inputs, without the batch info.
  const std::vector<std::string>& graph_outputs() const { return names_; }
  /// Reads the inputs of a firing into `part`. Throws Error if their number differs.
  void read(const Firing& firing, StepMetrics& part) const;

 private:
  /// A metric, with the indices of the inputs that are its sum and its count. If `count` is kRows, a constant of
  /// sink_inputs.cpp, the count is the number of rows.
  struct Column {
    std::string name;
    std::size_t sum;
    std::size_t count;
  };
  /// Adds a column, and its sum and count to the names if `graph` has them as outputs.
  void add_column(std::vector<Column>& columns, const Graph& graph, const std::string& name, const std::string& sum,
                  const std::string& count);
  static void read(const std::vector<Column>& columns, const Firing& firing, MetricValues& values, std::int64_t rows);

  std::vector<std::string> names_;
  std::vector<Column> values_, loss_means_;
  bool magnitude_;
};

}  // namespace troupe
