#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/plan/segment_layout.hpp"
#include "troupe/actors/ports/ports.hpp"
#include "troupe/actors/segment/executor_memory.hpp"
#include "troupe/actors/store/parameter_store.hpp"
#include "troupe/actors/store/update_counter.hpp"
#include "troupe/ops/core/stream.hpp"

namespace troupe {

/// The arguments with which a segment's memory is made. `plan` and `layout` must outlive the memory.
struct SegmentMemorySetup {
  const Plan& plan;
  const PlanSegment& segment;
  const SegmentLayout& layout;
  /// The memory keeps views of the buffers and the arena, and the handle of the scratch memory.
  const ExecutorMemory& shared;
  std::shared_ptr<ParameterStore> store;
  std::shared_ptr<Stream> stream;
};

/// The memory in which the tasks of one segment work: the arena of its inner values, the slots of its outputs with the
/// tokens in them, scratch memory, and the parameters and constants that it reads. HostMemory and DeviceMemory are the
/// two kinds. Used on one thread at a time.
///
/// The tokens with which an output begins a run are the tensors that were sent last. Before the first firing they hold
/// the parameter's value in the store if the output carries a parameter, else zeros.
class SegmentMemory {
 public:
  virtual ~SegmentMemory() = default;
  SegmentMemory(const SegmentMemory&) = delete;
  SegmentMemory& operator=(const SegmentMemory&) = delete;

  // ---- The arguments of tasks

  /// The stream on which the segment's work is launched; segments of one executor may share it.
  Stream& stream() const { return *stream_; }
  const Tensor& arena() const { return arena_; }
  /// The slots of an output, with room for the plan's maximum number of rows. The handles are empty if the output
  /// overwrites the tensor of a port, an edge over which tensors arrive.
  const std::vector<Tensor>& slots(std::uint32_t output) const { return outputs_[output].slots; }
  /// Makes room for the scratch memory of the kernels of all tasks; see ScratchMemory.
  void reserve_scratch(std::size_t bytes) { scratch_->reserve(bytes, "kernels of " + name_); }
  std::byte* scratch() const { return scratch_->address(); }
  /// The parameter as the segment's tasks use it: the tensor in the store, or its copy on the segment's device.
  virtual const Tensor& parameter(const ParameterRef& ref) = 0;
  /// The constant as the segment's tasks read it: `value`, or its copy on the segment's device.
  virtual Tensor constant(const Tensor& value) = 0;

  // ---- A firing

  /// Makes work that is launched from now on wait for the event, including the copy of `arrived` to the device.
  virtual void wait_for_input(const Event& event, const Tensor& /*arrived*/) { stream_->wait(event); }
  /// Returns the tensor that tasks read for one that has arrived at a port: `arrived`, or its copy on the segment's
  /// device. The result is valid until the next call. HostMemory throws Error if `arrived` is not in host memory.
  virtual const Tensor& receive(std::uint32_t port, const Tensor& arrived) = 0;
  /// Makes the message that all consumers get for `tensor`, the tensor in a slot of an output, in a firing with `rows`
  /// rows. If the slots hold copies of a parameter, first copies the parameter's value into the slot.
  SentTensor send(std::uint32_t output, std::uint32_t slot, const Tensor& tensor, std::int64_t rows);
  /// Ends a firing. All its work must have been launched.
  virtual void finish_firing() {}
  /// After finish_firing(): the event after which the tensor of a port may be overwritten. The event is done if the
  /// order of the stream makes waiting unnecessary.
  const Event& last_use(std::uint32_t port) const { return last_uses_[port]; }

  // ---- Runs

  /// Begins a run: brings copies of parameters, and tokens that hold the value of a parameter, up to date with the
  /// store.
  void begin_run();
  /// Makes the message for a token: the tensor that the slot held when it was sent last, or the start value before the
  /// first firing.
  SentTensor token(std::uint32_t output, std::uint32_t slot);
  /// The event after all work launched in this run. Must be called after the last launch of the run.
  const Event& last_work();
  /// True if launched work is not complete or has failed, so that it may still write to memory although no actor waits
  /// for it.
  bool is_busy() const;

 protected:
  /// Allocates the arena, unless it is shared. If that fails, throws Error that names the actor with the largest value
  /// in the arena.
  explicit SegmentMemory(const SegmentMemorySetup& setup);

  const std::string& name() const { return name_; }
  ParameterStore& store() const { return *store_; }
  /// Makes the slots of all outputs. The constructors of the subclasses call it, since it calls make_slot().
  void allocate_slots(const SegmentMemorySetup& setup);

  std::vector<Event> last_uses_;  // by port; see last_use()

 private:
  static constexpr std::int64_t kNothingSent = -1;

  struct Output {
    const PlanEdge* edge;
    std::vector<Tensor> slots;
    std::vector<std::int64_t> sent_rows;  // by slot: the rows of the tensor that was sent last
    /// The parameter of which each slot holds a copy; null if there is none.
    const ParameterRef* copied_parameter = nullptr;
    /// The update counter of the parameter whose value the tokens hold; null if they hold none.
    std::shared_ptr<const UpdateCounter> counter = nullptr;
    std::int64_t sent_version = kNothingSent;
  };

  /// Allocates a slot that lies in neither a parameter nor a shared buffer, with room for the plan's maximum number of
  /// rows.
  virtual Tensor make_slot(const SegmentMemorySetup& setup, const PlanEdge& edge) const = 0;
  /// The message for a tensor in a slot of an output, for all its consumers.
  virtual SentTensor message_for(std::uint32_t output, std::uint32_t slot, const Tensor& tensor) = 0;
  /// Sets copies of parameters to the values in the store.
  virtual void refresh_parameters() {}
  /// Copies the slots of an output, which begin_run() has brought up to date, to wherever consumers read them, and
  /// waits until the copies are complete.
  virtual void publish_slots(std::uint32_t /*output*/) {}

  Tensor slot_for(const SegmentMemorySetup& setup, const SegmentOutput& output);
  void refresh(Output& output, std::uint32_t slot);

  std::string name_;
  std::shared_ptr<ParameterStore> store_;
  std::shared_ptr<Stream> stream_;
  Tensor arena_;
  std::shared_ptr<ScratchMemory> scratch_;
  std::vector<Output> outputs_;
  bool has_sent_ = false;
  std::optional<Event> last_work_;
};

/// The memory of a segment on the host. Tasks read parameters, constants and tensors of other segments without copies,
/// in the memory where they lie.
class HostMemory final : public SegmentMemory {
 public:
  explicit HostMemory(const SegmentMemorySetup& setup) : SegmentMemory(setup) { allocate_slots(setup); }

  const Tensor& parameter(const ParameterRef& ref) override { return store().borrowed(ref); }
  Tensor constant(const Tensor& value) override { return value; }
  const Tensor& receive(std::uint32_t port, const Tensor& arrived) override;

 private:
  /// Pins the slot for the first device of this process that reads the edge. A slot that no device reads is not pinned.
  Tensor make_slot(const SegmentMemorySetup& setup, const PlanEdge& edge) const override;
  SentTensor message_for(std::uint32_t, std::uint32_t, const Tensor& tensor) override { return {tensor}; }
};

}  // namespace troupe
