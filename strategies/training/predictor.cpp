#include "troupe/strategies/training/predictor.hpp"

#include <algorithm>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/ops/core/batch_info.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/matmul_precision.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/strategies/step/replica.hpp"
#include "troupe/strategies/strategy.hpp"
#include "troupe/strategies/training/model_names.hpp"
#include "troupe/strategies/training/model_parameters.hpp"
#include "troupe/strategies/training/start_values.hpp"

namespace troupe {

namespace {

constexpr int kReplica = 0;

std::vector<Field> fields_of(const Graph& graph) {
  std::vector<Field> fields;
  for (auto id : graph.sources(kInput))
    if (graph.producer(id).name != names::kBatchInfo) fields.push_back({graph.producer(id).name, graph.info(id)});
  if (fields.empty()) throw Error("predictor", "the model reads no field");
  return fields;
}

/// Returns a reader of the parameters of a graph, for replica 0. Adds the parameters of the model to the store if it
/// does not have them. Throws Error like check_values_for_prediction().
ParameterReader reader_of(const Graph& graph, const Trainer& trainer, const std::vector<Field>& fields, Device device,
                          std::chrono::milliseconds refresh) {
  const auto& store = trainer.shared_parameters();
  std::vector<ParameterRef> refs;
  std::vector<PlanParameter> parameters;
  for (auto id : graph.sources(kParameter)) {
    const auto& node = graph.producer(id);
    refs.push_back({node.name, kReplica});
    parameters.push_back({refs.back(), graph.info(id), device, node.initializer, node.trainable});
  }
  const auto of_model = note_model_order({store}, parameters, Purpose::evaluation, trainer.spec(), fields);
  check_values_for_prediction(*store, parameters, of_model, trainer.name(), trainer.model_names().set_by_user());
  for (const auto& parameter : parameters) store->add(parameter);
  add_missing({store}, of_model);
  return {store, std::move(refs), refresh};
}

/// Returns a copy in host memory of an output of a Program, because the next run of the Program overwrites the output.
Tensor kept(const Tensor& result) {
  return result.host_accessible() ? result.host_copy() : result.copy_to_host();
}

/// The graph of the predictions on a device. On the host, and in 16-bit floats, it is the one that Trainer::predict()
/// runs, so that both give the same bits.
Graph graph_for(const Trainer& trainer, const std::vector<Field>& fields, const Device& device) {
  const auto graph = prediction_graph(trainer.spec(), fields);
  return is_host(device) || is_16_bit(dtype_of(matmul_precision())) ? optimized_for(device, graph) : graph;
}

}  // namespace

Predictor::Predictor(const Trainer& trainer, std::vector<Field> fields, PredictorOptions options)
    : graph_(graph_for(trainer, fields, trainer.strategy().places().front().device)),
      device_(trainer.strategy().places().front().device),
      read_(fields_of(graph_)),
      reads_batch_info_(graph_.sources(kInput).size() > read_.size()),
      reader_(reader_of(graph_, trainer, fields, device_, options.refresh)),
      prepared_(options.prepared) {
  if (options.prepared < 1) throw Error("predictor", "must be able to keep at least one number of rows prepared");
}

void Predictor::expect_rows(const std::string& name) const {
  const auto& output = output_named(name);
  const auto& info = graph_.info(graph_.output(output));
  if (!info.shape.has_batch())
    throw Error("predictor", "output '" + output + "' is " + to_string(info) + ", not one row per sample");
}

const std::string& Predictor::output_named(const std::string& name) const {
  const auto& outputs = graph_.outputs();
  if (name.empty() && outputs.size() == 1) return outputs[0].name;
  const auto prefix = names::model_output("");
  std::string known_outputs;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto output = std::string_view(outputs[i].name).substr(prefix.size());
    if (output == name) return outputs[i].name;
    known_outputs += (i > 0 ? ", '" : "'") + std::string(output) + "'";
  }
  throw Error("predictor", name.empty() ? "the model has several outputs, say which is meant: " + known_outputs
                                        : "there is no output '" + name + "' among " + known_outputs);
}

const Tensor& Predictor::array_of(const Field& field, const Arrays& rows) const {
  for (const auto& [name, array] : rows)
    if (name == field.name) return array;
  throw Error("predictor", "the field " + to_string(field) + " is missing");
}

std::int64_t Predictor::rows_of(const Arrays& rows) const {
  std::int64_t count = -1;
  for (const auto& field : read_) {
    const auto& array = array_of(field, rows);
    const auto& shape = field.info.shape;
    if (!array || array.shape().rank() < 1 || !(array.shape() == shape.with_rows(array.shape()[0])) ||
        array.dtype() != field.info.dtype)
      throw Error("predictor",
                  "the field " + to_string(field) + " was given " + (array ? to_string(array) : "nothing"));
    if (count >= 0 && array.shape()[0] != count)
      throw Error("predictor", "the field " + to_string(field) + " has " + std::to_string(array.shape()[0]) +
                                   " rows, but '" + read_[0].name + "' has " + std::to_string(count));
    count = array.shape()[0];
  }
  return count;
}

Predictor::Prepared& Predictor::prepared(std::int64_t rows) {
  if (auto* cached = prepared_.find(rows)) return *cached;
  Prepared fresh{Program(graph_, rows, device_), {}, {}};
  for (const auto& field : read_) {
    fresh.inputs.emplace_back(field.info.shape.with_rows(rows), field.info.dtype, device_);
    fresh.program.bind(field.name, fresh.inputs.back());
  }
  if (reads_batch_info_) {
    fresh.batch_info = Tensor(BatchInfo::info().shape, BatchInfo::info().dtype, device_);
    fresh.program.bind(names::kBatchInfo, fresh.batch_info);
  }
  return prepared_.add(rows, std::move(fresh));
}

Predictor::Prepared& Predictor::run(const Arrays& rows) {
  const auto count = rows_of(rows);
  auto& program = prepared(count);
  if (reads_batch_info_) {
    const Tensor batch_info(BatchInfo::info().shape, BatchInfo::info().dtype);
    BatchInfo{count, count, 0, calls_}.write(batch_info);
    copy_and_wait(batch_info, program.batch_info);
  }
  ++calls_;
  for (std::size_t i = 0; i < read_.size(); ++i) copy_and_wait(array_of(read_[i], rows), program.inputs[i]);
  if (program.parameters_version != reader_.version()) {
    const auto parameters = graph_.sources(kParameter);
    for (std::size_t i = 0; i < parameters.size(); ++i)
      program.program.bind(graph_.producer(parameters[i]).name, reader_.tensors()[i]);
    program.parameters_version = reader_.version();
  }
  program.program.run();
  return program;
}

Tensor Predictor::predict(const Arrays& rows, const std::string& output) {
  const auto use = user_.use();
  const auto& name = output_named(output);
  const auto access = reader_.access();
  return kept(run(rows).program.output(name));
}

Predictor::Arrays Predictor::predict_all(const Arrays& rows) {
  const auto use = user_.use();
  const auto access = reader_.access();
  const auto& program = run(rows).program;
  Arrays all;
  const auto prefix = names::model_output("");
  for (const auto& [name, value] : graph_.outputs())
    all.emplace_back(name.substr(prefix.size()), kept(program.output(name)));
  return all;
}

}  // namespace troupe
