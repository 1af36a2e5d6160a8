#include "troupe/actors/load/loader.hpp"
#include "troupe/actors/ports/port_actor.hpp"
#include "troupe/ops/core/batch_info.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

// The number of slots of each edge of a feeder: the source may be this many batches ahead of the feeder, and the feeder
// this many parts of batches ahead of its replica.
constexpr std::int32_t kAhead = 2;

/// The actor that add_feeder() adds: gives one replica its rows of every batch of a source.
class BatchFeeder final : public PortActor {
 public:
  struct Options {
    std::string source;  ///< the name of the actor that makes the batches, for errors
    std::int64_t most_rows;
    int replicas, replica;
  };
  BatchFeeder(caf::actor_config& config, Options options) : PortActor(config), options_(std::move(options)) {}

 private:
  void fire(std::int64_t step, std::span<const Tensor> inputs, std::span<Tensor> outputs) override {
    const auto rows = rows_of(inputs);
    const auto part = part_of_batch(rows, options_.replicas, options_.replica);
    for (std::size_t i = 0; i < inputs.size(); ++i) outputs[i] = inputs[i].rows(part.first, part.rows).host_copy();
    outputs.back() = Tensor(BatchInfo::info().shape, BatchInfo::info().dtype);
    BatchInfo{part.rows, rows, part.first, step}.write(outputs.back());
  }

  std::int64_t rows_of(std::span<const Tensor> inputs) const {
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

  Options options_;
};

}  // namespace

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
  plan.add_edges(feeder, kAhead);
  return feeder;
}

}  // namespace troupe
