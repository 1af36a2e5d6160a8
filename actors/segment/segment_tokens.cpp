#include "troupe/actors/segment/segment_tokens.hpp"

namespace troupe {

SegmentTokens::SegmentTokens(const Plan& plan, const SegmentLayout& layout, ParameterStore& store,
                             SegmentMemory& memory)
    : memory_(memory) {
  for (const auto& outgoing : layout.outputs) {
    auto& output = outputs_.emplace_back();
    output.edge = &plan.edges[outgoing.edge];
    if (outgoing.parameter && !outgoing.is_parameter(*output.edge)) output.copied_parameter = &*outgoing.parameter;
    if (outgoing.parameter && output.edge->initial_tokens > 0) output.counter = store.counter(*outgoing.parameter);
    output.sent_rows.assign(static_cast<std::size_t>(output.edge->capacity), plan.max_rows);
  }
}

void SegmentTokens::note_version(Output& output) {
  if (output.counter != nullptr) output.sent_version = output.counter->updates();
}

void SegmentTokens::note_sent(std::int32_t number, std::uint32_t slot, std::int64_t rows) {
  auto& output = outputs_[number];
  has_sent_ = true;
  if (output.copied_parameter != nullptr) memory_.copy_parameter(*output.copied_parameter, number, slot);
  note_version(output);
  output.sent_rows[slot] = rows;
}

SentTensor SegmentTokens::token(std::int32_t number, std::uint32_t slot) {
  auto& output = outputs_[number];
  if (!has_sent_) {
    if (output.copied_parameter != nullptr) memory_.copy_parameter(*output.copied_parameter, number, slot);
    note_version(output);
  }
  const auto shape = output.edge->info.shape.with_rows(output.sent_rows[slot]);
  return memory_.send(number, slot, memory_.slots(number)[slot].view(shape));
}

void SegmentTokens::refresh() {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    auto& output = outputs_[i];
    if (output.sent_version == kNothingSent || output.sent_version == output.counter->updates()) continue;
    note_version(output);
    const auto number = static_cast<std::int32_t>(i);
    if (output.copied_parameter != nullptr)
      for (std::uint32_t slot = 0; slot < output.sent_rows.size(); ++slot)
        memory_.copy_parameter(*output.copied_parameter, number, slot);
    memory_.publish_slots(number);
  }
}

}  // namespace troupe
