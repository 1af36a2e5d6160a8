#include "troupe/actors/ports/refusals.hpp"

#include "troupe/ops/core/error.hpp"

namespace troupe {

bool Refusals::ask(const Ports& ports, std::uint32_t output, std::uint32_t slot, const std::string& actor) {
  asked_ = true;
  const auto slots = ports.slots(output);
  if (slot >= slots)
    throw Error(actor, "output " + std::to_string(output) + " has " + std::to_string(slots) +
                           " slots, so none has the number " + std::to_string(slot));
  return ports.was_refused(output, slot);
}

void Refusals::end(const Ports& ports, std::uint32_t output, std::uint32_t slot, const std::string& actor) const {
  if (tolerates_ || asked_ || !ports.was_refused(output, slot)) return;
  const auto& wire = ports.output_wire(output);
  std::string consumers;
  for (const auto& name : wire.consumer_names) consumers += (consumers.empty() ? "'" : ", '") + name + "'";
  throw Error(actor, "'" + wire.edge + "' came back unused from " + consumers +
                         ": the process of a consumer was lost, or the consumer has refused the tensor; send it again "
                         "if was_refused() is true in on_slot_free(), or call tolerate_losses()");
}

}  // namespace troupe
