#pragma once

#include <cstdint>
#include <string>

#include "troupe/actors/ports/ports.hpp"

namespace troupe {

/// The rule for an actor with its own firing rule whose tensors come back refused, because the process of a consumer
/// was lost or a consumer has not used them: the actor must ask about each, or declare that it tolerates losses.
class Refusals {
 public:
  void tolerate() { tolerates_ = true; }
  /// Begins the call of PortActor::on_slot_free() for a slot.
  void begin() { asked_ = false; }
  /// Returns whether a consumer has refused the tensor that the slot carried last. Throws Error, in the name of
  /// `actor`, if the output has no slot of that number.
  bool ask(const Ports& ports, std::uint32_t output, std::uint32_t slot, const std::string& actor);
  /// Ends the call of on_slot_free(). Throws Error, in the name of `actor`, if a consumer has refused the tensor and
  /// the actor neither asked nor tolerates losses.
  void end(const Ports& ports, std::uint32_t output, std::uint32_t slot, const std::string& actor) const;

 private:
  bool asked_ = false;  // since the last call of begin()
  bool tolerates_ = false;
};

}  // namespace troupe
