#include "troupe/strategies/training/predicted_rows.hpp"

#include <cstring>

#include "troupe/actors/task/function_task.hpp"
#include "troupe/ops/core/batch_info.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/strategies/step/training_graph.hpp"

namespace troupe {

PredictedRows::PredictedRows(const TrainingSpec& spec, const Dataset& data, const std::string& output)
    : batch_rows_(data.batch_rows()) {
  const auto graph = prediction_graph(spec, data.fields());
  if (output.empty() && graph.outputs().size() != 1)
    throw Error("predict", "the model has several outputs: say which is meant");
  graph_output_ = output.empty() ? graph.outputs()[0].name : names::model_output(output);
  const auto& info = graph.info(graph.output(graph_output_));
  if (!info.shape.has_batch())
    throw Error("predict", "output '" + graph_output_ + "' is " + to_string(info) + ", not one row per sample");
  rows_ = Tensor(info.shape.with_rows(data.rows()), info.dtype);
  row_bytes_ = static_cast<std::size_t>(info.shape.row_elements()) * size_of(info.dtype);
}

TaskFactory PredictedRows::sink() const {
  // The sinks write to the tensor at once, without a lock: each sink writes its own rows. A plan for prediction keeps
  // the order of the data.
  return function_task(
      [rows = rows_, row_bytes = row_bytes_, batch_rows = batch_rows_, written = written_](const Firing& firing) {
        const auto batch_info = BatchInfo::read(firing.inputs[1]);
        *written += batch_info.rows;
        const auto row = static_cast<std::size_t>(batch_info.step * batch_rows + batch_info.first_row);
        if (firing.inputs[0].bytes() > 0)
          std::memcpy(rows.mutable_raw() + row * row_bytes, firing.inputs[0].raw(), firing.inputs[0].bytes());
      });
}

}  // namespace troupe
