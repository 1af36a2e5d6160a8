#include <algorithm>
#include <array>

#include "troupe/actors/load/loader.hpp"
#include "troupe/actors/task/op_task.hpp"
#include "troupe/actors/task/spawn_context.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

namespace {

/// The task of add_row_loader(): gathers the rows of a batch from fields that the device keeps. The task only launches
/// kernels, and the addresses of the kept fields do not change, so its work can be captured together with the work of
/// the tasks that read the batch.
class RowLoaderTask final : public Task {
 public:
  struct Field {
    std::shared_ptr<const Tensor> rows;
    OpTask load;
  };
  explicit RowLoaderTask(std::vector<Field> fields) : fields_(std::move(fields)) {}

  bool runs_on_device() const override { return true; }
  bool capturable() const override { return true; }
  void prepare(std::int64_t rows) override {
    for (auto& field : fields_) field.load.prepare(rows);
  }
  std::size_t scratch_bytes() const override {
    std::size_t bytes = 0;
    for (const auto& field : fields_) bytes = std::max(bytes, field.load.scratch_bytes());
    return bytes;
  }
  bool fire(const Firing& firing) override {
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const std::array inputs{*fields_[i].rows, firing.inputs[0]};
      fields_[i].load.fire({inputs, firing.outputs.subspan(i, 1), firing.step, firing.rows, firing.context});
    }
    return true;
  }

 private:
  std::vector<Field> fields_;
};

OpCall call_of(const Dataset::StoredField& stored, const TensorInfo& output) {
  Attributes attributes;
  if (stored.scaled) attributes = {{"scale", double{stored.scale}}, {"shift", double{stored.shift}}};
  return {&kLoadRows, attributes, {{stored.rows.shape(), stored.rows.dtype()}, sample_indices_info()}, {output}};
}

std::int64_t row_bytes(const Dataset::StoredField& stored) {
  return stored.rows.shape().row_elements() * static_cast<std::int64_t>(size_of(stored.rows.dtype()));
}

std::shared_ptr<const Tensor> kept_rows(DeviceArrays& arrays, const std::string& field, const Tensor& rows,
                                        Device device) {
  try {
    return arrays.copy_of(rows, device);
  } catch (const Error& error) {
    throw Error("loader", "field '" + field + "' cannot be kept on " + to_string(device) +
                              ", Dataset::keep_on_devices(0) leaves it on the host: " + error.what());
  }
}

}  // namespace

bool kept_on(Device device, const Dataset& data, std::span<const std::string> fields) {
  if (is_host(device) || fields.empty()) return false;
  // All processes must get the same answer, so the rows of the largest shard are counted in every process.
  const auto& shards = data.layout().rows();
  const auto rows = shards.empty() ? data.rows() : *std::ranges::max_element(shards);
  std::int64_t bytes = 0;
  for (const auto& field : fields) {
    const auto stored = data.stored(data.index_of(field));
    if (!stored) return false;
    bytes += rows * row_bytes(*stored);
  }
  return bytes <= data.kept_on_devices();
}

ActorId add_row_loader(Plan& plan, const std::string& source, const Dataset& data, std::span<const std::string> fields,
                       const OutputRef& indices, int replica, const Place& place) {
  auto actor = loader_of("load_rows", source, data, fields, replica, place);
  actor.name = "rows@" + std::to_string(replica);
  std::vector<std::int64_t> bytes;
  for (const auto& field : fields)
    bytes.push_back(rows_in(data, place.process) * row_bytes(data.stored(data.index_of(field)).value()));
  actor.task.attributes = actor.task.attributes.with("bytes", std::move(bytes));
  const auto loader = plan.add(std::move(actor));
  plan.connect(indices, loader);
  plan.add_edges(loader);
  return loader;
}

std::unique_ptr<Task> make_row_loader_task(const PlanActor& actor, SpawnContext& context) {
  const auto& data = context.source(actor.task.subject);
  const auto numbers = fields_of(actor, data);
  std::vector<RowLoaderTask::Field> fields;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto& name = data.fields()[numbers[i]].name;
    const auto stored = data.stored(numbers[i]);
    if (!stored) throw Error("loader", "field '" + name + "' is written by a function, which a device cannot keep");
    const auto& device = actor.place.device;
    fields.push_back({kept_rows(*context.device_arrays, name, stored->rows, device),
                      OpTask(call_of(*stored, actor.outputs[i].info), device)});
  }
  return std::make_unique<RowLoaderTask>(std::move(fields));
}

}  // namespace troupe
