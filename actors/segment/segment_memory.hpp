#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/plan/segment_layout.hpp"
#include "troupe/actors/ports/ports.hpp"
#include "troupe/actors/store/parameter_store.hpp"
#include "troupe/actors/store/update_counter.hpp"
#include "troupe/ops/core/stream.hpp"

namespace troupe {

/// The objects of which a segment's memory is made. Plan, layout and shared buffers outlive the memory.
struct SegmentMemorySetup {
  const Plan& plan;
  const PlanSegment& segment;
  const SegmentLayout& layout;
  /// The buffers that edges of the plan share.
  std::span<const Tensor> shared_buffers;
  std::shared_ptr<ParameterStore> store;
  std::shared_ptr<Stream> stream;
};

/// The memory in which the tasks of one segment work: the arena of its inner values, the slots of its outputs with the
/// tokens in them, scratch memory, and the parameters and constants that it reads. HostMemory and DeviceMemory are the
/// two kinds; nothing else asks where a segment runs. Used on one thread at a time.
///
/// The tokens with which an output begins a run are the tensors that were sent last. Before the first firing they are
/// the parameter as it is in the store, or zeros.
class SegmentMemory {
 public:
  virtual ~SegmentMemory() = default;
  SegmentMemory(const SegmentMemory&) = delete;
  SegmentMemory& operator=(const SegmentMemory&) = delete;

  // ---- The arguments of tasks

  /// The stream on which the segment's work is launched; segments of one executor may share it.
  Stream& stream() const { return *stream_; }
  const Tensor& arena() const { return arena_; }
  /// The slots of an output, with room for the plan's maximum number of rows. Empty handles for an output in place.
  const std::vector<Tensor>& slots(std::uint32_t output) const { return outputs_[output].slots; }
  /// Scratch memory of at least `bytes`, for the kernels of all tasks.
  std::byte* scratch(std::size_t bytes);
  /// A parameter of the store, as tasks read it here.
  virtual const Tensor& parameter(const ParameterRef& ref) = 0;
  /// A constant of the plan, as tasks read it here.
  virtual Tensor constant(const Tensor& value) = 0;

  // ---- A firing

  /// Work launched from now on, and the copy of the tensor that has arrived, begin after the event.
  virtual void wait_for_input(const Event& event, const Tensor& /*arrived*/) { stream_->wait(event); }
  /// The tensor that tasks read in place of one that has arrived at a port; valid until the next call. Throws Error if
  /// an external actor sent a tensor that contradicts the plan.
  virtual const Tensor& receive(std::uint32_t port, const Tensor& arrived) = 0;
  /// The message for the tensor of a slot of an output, in a firing with `rows` rows, for all its consumers. The slot
  /// of an output that carries copies of a parameter gets its value.
  SentTensor send(std::uint32_t output, std::uint32_t slot, const Tensor& tensor, std::int64_t rows);
  /// Ends a firing, whose work has been launched.
  virtual void finish_firing() {}
  /// The event after which a tensor that arrived at a port may be overwritten, once the firing is over. Done if the
  /// order of the stream implies it.
  const Event& last_use(std::uint32_t port) const { return last_uses_[port]; }

  // ---- Runs

  /// Begins a run: parameters, and tokens that hold the value of a parameter, follow changes of the store since the
  /// last run.
  void begin_run();
  /// The message for a slot of an output as it was sent last, or as the output starts.
  SentTensor token(std::uint32_t output, std::uint32_t slot);
  /// The end of all work that was launched in this run.
  const Event& last_work();
  /// True if launched work may still run, and write to memory, though no actor waits for it.
  bool is_busy() const;

 protected:
  /// Allocates the arena. An error says for which values the memory was wanted.
  explicit SegmentMemory(const SegmentMemorySetup& setup);

  const std::string& name() const { return name_; }
  ParameterStore& store() const { return *store_; }
  /// Makes the slots of all outputs. Called by the constructors of both kinds.
  void allocate_slots(const SegmentMemorySetup& setup);

  std::vector<Event> last_uses_;  // by port

 private:
  static constexpr std::int64_t kNothingSent = -1;

  struct Output {
    const PlanEdge* edge;
    std::vector<Tensor> slots;
    std::vector<std::int64_t> sent_rows;  // by slot
    /// The parameter of which each slot holds a copy; null if there is none.
    const ParameterRef* copied_parameter = nullptr;
    /// Counter of the parameter whose value the tokens are; null if there is none.
    std::shared_ptr<const UpdateCounter> counter = nullptr;
    std::int64_t sent_version = kNothingSent;
  };

  /// Memory for a slot of its own with the plan's maximum number of rows.
  virtual Tensor make_slot(const SegmentMemorySetup& setup, const PlanEdge& edge) const = 0;
  /// The message for a tensor in a slot of an output, for all its consumers.
  virtual SentTensor message_for(std::uint32_t output, std::uint32_t slot, const Tensor& tensor) = 0;
  /// Copies of parameters get the values of the store.
  virtual void refresh_parameters() {}
  /// Makes the slots of an output, which were written between runs, visible to all consumers.
  virtual void publish_slots(std::uint32_t /*output*/) {}

  Tensor slot_for(const SegmentMemorySetup& setup, const SegmentOutput& output);
  void refresh(Output& output, std::uint32_t slot);

  std::string name_;
  std::shared_ptr<ParameterStore> store_;
  std::shared_ptr<Stream> stream_;
  Tensor arena_;
  Tensor scratch_;
  std::vector<Output> outputs_;
  bool has_sent_ = false;
  std::optional<Event> last_work_;
};

/// The memory of a segment on the host. Tasks read parameters, constants and tensors of other segments where they lie.
class HostMemory final : public SegmentMemory {
 public:
  explicit HostMemory(const SegmentMemorySetup& setup) : SegmentMemory(setup) { allocate_slots(setup); }

  const Tensor& parameter(const ParameterRef& ref) override { return store().borrowed(ref); }
  Tensor constant(const Tensor& value) override { return value; }
  const Tensor& receive(std::uint32_t port, const Tensor& arrived) override;

 private:
  /// A slot is pinned for the first device of this process that reads the edge.
  Tensor make_slot(const SegmentMemorySetup& setup, const PlanEdge& edge) const override;
  SentTensor message_for(std::uint32_t, std::uint32_t, const Tensor& tensor) override { return {tensor}; }
};

}  // namespace troupe
