#include "troupe/strategies/step/batch_source.hpp"

#include "troupe/ops/core/error.hpp"

namespace troupe {

Dataset BatchSource::description() const {
  const auto& name = actor.name.empty() ? "source" : actor.name;
  if (most_rows < 1) throw Error(name, "a batch needs room for at least one row");
  if (actor.role != ActorRole::external || actor.pacing != Pacing::source || !actor.inputs.empty())
    throw Error(name, "is no external actor without inputs, and cannot be the source of batches");
  if (actor.outputs.size() != fields.size())
    throw Error(name, "has " + std::to_string(actor.outputs.size()) + " outputs for " + std::to_string(fields.size()) +
                          " fields");
  Dataset::Arrays arrays;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto& [field, info] = fields[i];
    if (!info.shape.has_batch())
      throw Error(name, "field " + to_string(fields[i]) + " does not begin with the rows of the batch");
    if (!(actor.outputs[i].info == info))
      throw Error(name, "output " + std::to_string(i) + " is " + to_string(actor.outputs[i].info) + ", but the field " +
                            to_string(fields[i]));
    arrays.emplace_back(field, Tensor(info.shape.with_rows(0), info.dtype));
  }
  return Dataset::from_arrays(arrays).batch(most_rows);
}

}  // namespace troupe
