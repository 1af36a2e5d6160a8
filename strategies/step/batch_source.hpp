#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "troupe/actors/ports/port_actor.hpp"
#include "troupe/ops/data/dataset.hpp"

namespace troupe {

/// A user's actor that makes the batches of a fit, in place of a data set: from a device, a simulation, another
/// machine. Each of its steps is a batch for all replicas together, which Troupe divides among them. The actor is a
/// PortActor without inputs. It may wait for its data, gets the epoch and the first batch in on_run(), and ends an
/// epoch by Next::end.
struct BatchSource {
  /// The fields of a batch; output i of the actor carries field i, [rows, ...]. Fields without a reader are not sent.
  std::vector<Field> fields;
  /// The largest number of rows of a batch.
  std::int64_t most_rows = 0;
  PlanActor actor;

  /// A data set with these fields and no samples. Throws Error if there is no field, a field does not begin with the
  /// rows of the batch, `most_rows` is not positive, or the actor's outputs are not the fields.
  Dataset description() const;
};

/// `batch_source<Camera>("camera", {{"image", {Shape{kBatch, 32, 32}}}}, 64, arguments...)` makes an actor of the class
/// for every fit, with copies of these arguments.
template <class Actor, class... Arguments>
BatchSource batch_source(std::string name, std::vector<Field> fields, std::int64_t most_rows, Arguments... arguments) {
  ExternalPorts ports;
  for (const auto& field : fields) ports.outputs.push_back(field.info);
  return {std::move(fields), most_rows, external<Actor>(std::move(name), std::move(ports), std::move(arguments)...)};
}

}  // namespace troupe
