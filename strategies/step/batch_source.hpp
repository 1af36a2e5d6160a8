#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "troupe/actors/ports/port_actor.hpp"
#include "troupe/ops/data/dataset.hpp"
#include "troupe/strategies/step/data_positions.hpp"

namespace troupe {

/// A user's actor that makes the batches of a fit, in place of a data set: for example from a camera, a simulation, or
/// another machine. Each step of the actor is one batch, whose rows are divided among the replicas. The actor must be a
/// PortActor without inputs. It may wait for its data, gets the epoch and the first batch in PortActor::on_run(), and
/// returns Next::end to end an epoch.
struct BatchSource {
  /// The fields of a batch. Output i of the actor carries field i, whose first axis must be the rows of the batch.
  /// Fields that no actor reads are not sent.
  std::vector<Field> fields;
  /// The largest number of rows of a batch.
  std::int64_t most_rows = 0;
  PlanActor actor;
  /// The positions that the actor has reached, if it continues within an epoch by them; else null. Checkpoints have the
  /// position of the next batch under the name of the actor.
  std::shared_ptr<DataPositions> positions = nullptr;

  /// Returns a data set with these fields, `most_rows` as its number of rows in a batch, and no samples. Throws Error
  /// if there is no field, a field does not begin with the rows of the batch, `most_rows` is not positive, the actor is
  /// not an external actor (ActorRole::external) with Pacing::source and without inputs, or its outputs are not the
  /// fields.
  Dataset description() const;
};

/// Makes a batch source whose actor is of the class Actor. For example, with `batch_source<Camera>("camera", {{"image",
/// {Shape{kBatch, 32, 32}}}}, 64, arguments...)` every fit spawns a Camera with copies of the arguments.
template <class Actor, class... Arguments>
BatchSource batch_source(std::string name, std::vector<Field> fields, std::int64_t most_rows, Arguments... arguments) {
  ExternalPorts ports;
  for (const auto& field : fields) ports.outputs.push_back(field.info);
  return {std::move(fields), most_rows, external<Actor>(std::move(name), std::move(ports), std::move(arguments)...)};
}

}  // namespace troupe
