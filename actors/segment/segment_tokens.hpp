#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/plan/segment_layout.hpp"
#include "troupe/actors/segment/segment_memory.hpp"
#include "troupe/actors/store/update_counter.hpp"

namespace troupe {

/// The tokens with which the outputs of a segment begin a run: the tensors that were sent last. Before the first firing
/// they are the parameter as it is in the store, or zeros. A token that holds the value of a parameter follows changes
/// of the store between runs. Used on one thread at a time.
class SegmentTokens {
 public:
  /// Plan, layout and memory outlive this.
  SegmentTokens(const Plan& plan, const SegmentLayout& layout, ParameterStore& store, SegmentMemory& memory);

  /// A slot of an output is about to be sent with `rows` rows. The slot of an output that carries copies of a
  /// parameter gets its value.
  void note_sent(std::int32_t output, std::uint32_t slot, std::int64_t rows);
  /// The tensor of a slot as it was sent last, or as the output starts.
  SentTensor token(std::int32_t output, std::uint32_t slot);
  /// Before a run: tokens of parameters that were changed since the last run get the new value.
  void refresh();

 private:
  static constexpr std::int64_t kNothingSent = -1;

  struct Output {
    const PlanEdge* edge = nullptr;
    /// The parameter of which each slot holds a copy; null if there is none.
    const ParameterRef* copied_parameter = nullptr;
    /// Counter of the parameter whose value the tokens are; null if there is none.
    std::shared_ptr<const UpdateCounter> counter;
    std::int64_t sent_version = kNothingSent;
    std::vector<std::int64_t> sent_rows;  // by slot
  };

  static void note_version(Output& output);

  SegmentMemory& memory_;
  std::vector<Output> outputs_;
  bool has_sent_ = false;
};

}  // namespace troupe
