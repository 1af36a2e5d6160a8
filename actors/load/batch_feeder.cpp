#include "troupe/actors/load/batch_feeder.hpp"

#include <cstring>

#include "troupe/ops/core/batch_info.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/data/dataset.hpp"

namespace troupe {

namespace {

// Batches that the source may be ahead, and parts that wait for a replica.
constexpr std::int32_t kAhead = 2;

Tensor rows_from(const Tensor& batch, const BatchPart& part) {
  auto sizes = batch.shape().list();
  sizes[0] = part.rows;
  Tensor rows(Shape(sizes), batch.dtype());
  const auto row_bytes = static_cast<std::size_t>(batch.shape().row_elements()) * size_of(batch.dtype());
  if (rows.bytes() > 0)
    std::memcpy(rows.mutable_raw(), batch.raw() + static_cast<std::size_t>(part.first) * row_bytes, rows.bytes());
  return rows;
}

}  // namespace

std::int64_t BatchFeeder::rows_of(std::span<const Tensor> inputs) const {
  const auto rows = inputs[0].shape()[0];
  for (const auto& field : inputs)
    if (field.shape()[0] != rows)
      throw Error(options_.source, "sent a batch whose fields have " + std::to_string(rows) + " and " +
                                       std::to_string(field.shape()[0]) + " rows");
  if (rows < 1 || rows > options_.most_rows)
    throw Error(options_.source, "sent a batch of " + std::to_string(rows) + " rows where 1 to " +
                                     std::to_string(options_.most_rows) + " were declared");
  return rows;
}

void BatchFeeder::fire(std::int64_t step, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const auto rows = rows_of(inputs);
  const auto part = part_of_batch(rows, options_.replicas, options_.replica);
  for (std::size_t i = 0; i < inputs.size(); ++i) outputs[i] = rows_from(inputs[i], part);
  outputs.back() = Tensor(BatchInfo::info().shape, BatchInfo::info().dtype);
  BatchInfo{part.rows, rows, part.first, step}.write(outputs.back());
}

ActorId add_feeder(Plan& plan, ActorId source, const std::vector<std::int32_t>& fields, std::int64_t most_rows,
                   int replicas, int replica, const Place& place) {
  if (fields.empty()) throw Error(plan.actor(source).name, "makes batches of which no field is read");
  ExternalPorts ports;
  for (auto field : fields) ports.inputs.push_back(plan.actor(source).outputs.at(field).info);
  ports.outputs = ports.inputs;
  ports.outputs.push_back(BatchInfo::info());
  auto actor = external<BatchFeeder>("feeder@" + std::to_string(replica), std::move(ports),
                                     BatchFeeder::Options{plan.actor(source).name, most_rows, replicas, replica});
  actor.place = place;
  actor.replica = replica;
  const auto feeder = plan.add(std::move(actor));
  for (auto field : fields) plan.connect(source, field, feeder, kAhead);
  for (std::int32_t output = 0; output <= static_cast<std::int32_t>(fields.size()); ++output)
    plan.edge_of(feeder, output, kAhead);
  return feeder;
}

}  // namespace troupe
