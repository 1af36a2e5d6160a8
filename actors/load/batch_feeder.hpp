#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "troupe/actors/ports/port_actor.hpp"

namespace troupe {

/// Gives one replica its part of every batch that another actor makes, like a loader of a data set. Inputs: fields of a
/// batch, [rows, ...], with the same number of rows. Outputs: this replica's rows of the fields, then the batch info.
class BatchFeeder final : public PortActor {
 public:
  struct Options {
    std::string source;  ///< the name of the actor that makes the batches, for errors
    std::int64_t most_rows;
    int replicas, replica;
  };
  BatchFeeder(caf::actor_config& config, Options options) : PortActor(config), options_(std::move(options)) {}

 protected:
  void fire(std::int64_t step, std::span<const Tensor> inputs, std::span<Tensor> outputs) override;

 private:
  std::int64_t rows_of(std::span<const Tensor> inputs) const;

  Options options_;
};

/// Adds the feeder of one replica to a plan. `fields` are outputs of the actor `source`, which the feeder reads. Its
/// outputs are the same fields, then the batch info.
ActorId add_feeder(Plan& plan, ActorId source, const std::vector<std::int32_t>& fields, std::int64_t most_rows,
                   int replicas, int replica, const Place& place);

}  // namespace troupe
