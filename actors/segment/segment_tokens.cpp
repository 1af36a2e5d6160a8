#include "troupe/actors/segment/segment.hpp"
#include "troupe/ops/core/backend.hpp"

namespace troupe {

void Segment::find_token_parameters(const Plan& plan) {
  for (const auto& output : layout_.outputs) {
    auto& token = token_parameters_.emplace_back();
    if (output.parameter && plan.edges[output.edge].initial_tokens > 0)
      token.counter = store_->counter(*output.parameter);
  }
}

/// Remembers which version of its parameter an output has sent last.
void Segment::note_version(std::int32_t output) {
  auto& token = token_parameters_[output];
  if (token.counter != nullptr) token.version = token.counter->updates();
}

void Segment::copy_parameter(std::int32_t output, std::uint32_t slot) {
  copy(*stream_, parameter(*layout_.outputs[output].parameter), slots_[output][slot]);
}

SentTensor Segment::token(std::int32_t output, std::uint32_t slot) {
  // Before the first firing: the parameter as it is in the store, or zeros.
  if (!has_fired_ && copies_parameter_[output]) copy_parameter(output, slot);
  if (!has_fired_) note_version(output);
  const auto shape = output_infos_[output].shape.with_rows(sent_rows_[output][slot]);
  return sent(output, slot, slots_[output][slot].view(shape));
}

/// Whoever updates them does so between the runs in which they are read here.
void Segment::refresh_parameter_copies() {
  for (const auto& [ref, copied] : parameter_copies_) copy_and_wait(store_->borrowed(ref), copied);
}

void Segment::refresh_tokens() {
  refresh_parameter_copies();
  for (std::size_t output = 0; output < token_parameters_.size(); ++output) {
    const auto& token = token_parameters_[output];
    if (token.version == kNothingSent || token.version == token.counter->updates()) continue;
    refresh_slots(static_cast<std::int32_t>(output));
  }
}

void Segment::refresh_slots(std::int32_t output) {
  note_version(output);
  for (std::uint32_t slot = 0; slot < slots_[output].size(); ++slot) {
    if (copies_parameter_[output]) copy_parameter(output, slot);
    if (own_memory_ && !host_slots_[output].empty()) copy(*stream_, slots_[output][slot], host_slots_[output][slot]);
  }
  if (own_memory_) stream_->record().wait();
}

}  // namespace troupe
