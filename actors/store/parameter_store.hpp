#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/plan/parameter_ref.hpp"
#include "troupe/actors/plan/plan_fwd.hpp"
#include "troupe/ops/core/tensor.hpp"
#include "troupe/ops/graph/op.hpp"

namespace troupe {

/// Where a training is: what the next step is, and which batch of which epoch it reads.
struct TrainingPosition {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  std::int64_t batch = 0;
  /// The data of an epoch that was left in the middle: its rows, the rows of a batch, and a hash of the shards, 0 if
  /// there are none.
  std::int64_t rows = 0;
  std::int64_t batch_rows = 0;
  std::int64_t layout = 0;

  bool operator==(const TrainingPosition&) const = default;
};

class Lease;
class UpdateCounter;

/// Parameters and optimizer state, one copy per replica. It outlives plans, which borrow copies for the time of a run:
/// to write (the plan works on the tensors in place; nobody else may use them meanwhile) or to read (together with
/// other readers). Each copy counts its updates, so a copy that another plan has left behind is brought up to date when
/// it is borrowed, and copies that a failed run may have left half-written are refused until recover() or set().
///
/// A copy lies on the device of its replica. Values are read at step boundaries only: while a run writes, reading
/// throws Error. Thread-safe.
class ParameterStore {
 public:
  struct Entry {
    std::string name;
    TensorInfo info;
    bool trainable = false;
    int copies = 0;
  };

  explicit ParameterStore(std::uint64_t seed = 0);
  ~ParameterStore();
  ParameterStore(const ParameterStore&) = delete;
  ParameterStore& operator=(const ParameterStore&) = delete;

  std::uint64_t seed() const;

  /// Makes sure that a copy is there. It starts as another copy is, or as set() said, or as its initializer says. What
  /// replicas have for themselves starts anew if it was there in another shape.
  /// Throws Error if the parameter is there with another shape or dtype, is being written, or has no whole copy left.
  void add(const PlanParameter& parameter);

  /// All that a plan trains, in its order, of which perhaps only some are added here: start values and hash() follow
  /// from the order.
  void note_order(const std::vector<PlanParameter>& parameters);
  /// Everything in the store, parameters first in the order in which they came, then optimizer state by name.
  std::vector<Entry> entries() const;
  /// In place of a replica: the lowest one that has a copy here, where others may live in other processes.
  static constexpr int kFirst = -1;
  /// A copy in host memory, as it is now. Throws Error if it is not there, is being written, or is broken.
  Tensor get(const std::string& name, int replica = kFirst) const;
  /// Writes the value into all copies; for a parameter that is not there yet, the value with which it will start.
  /// Broken copies are whole again. Throws Error if shape or dtype differ, or while a run uses it.
  void set(const std::string& name, const Tensor& value);

  /// A value with the number of updates that it has had.
  struct Version {
    std::int64_t updates = 0;
    Tensor value;
  };
  /// The newest whole copy in host memory, or what set() gave a parameter that is not there yet; nothing if there is
  /// neither. Throws Error while a run writes to it.
  std::optional<Version> newest(const std::string& name) const;
  /// Its number of updates; nothing if there is no whole copy.
  std::optional<std::int64_t> newest_updates(const std::string& name) const;
  /// Like set(), with the number of updates of another store's value.
  void adopt(const std::string& name, const Version& version);
  /// All names: of entries(), and of what was set but is not there yet. States that replicas have for themselves, see
  /// PlanParameter::per_replica, are in neither.
  std::vector<std::string> names() const;
  /// Those that were set, and that no plan has asked for yet.
  std::vector<std::string> unclaimed() const;
  /// Drops such a value; does nothing if there is none of that name.
  void forget(const std::string& name);

  TrainingPosition position() const;
  void set_position(const TrainingPosition& position);

  /// Borrows copies for a run. Copies that are behind are brought up to date. Waits for a ParameterReader that is just
  /// reading. Throws Error if another run uses them in a way that conflicts, or if they are broken. The lease must not
  /// outlive the store.
  /// Those of the written ones that are `alone` may be updated at another pace than the rest of their replica.
  Lease borrow(std::vector<ParameterRef> read, std::vector<ParameterRef> written, const std::string& borrower,
               const std::vector<ParameterRef>& alone = {});
  /// What is broken and why, for people; empty if nothing is.
  std::string broken() const;
  /// Replaces broken copies by the newest whole copy of another replica; what a replica has for itself starts anew.
  /// Throws Error if there is none.
  void recover();

  /// xxh3 (64 bits, hexadecimal) of all trained parameters of a replica in order. Throws Error like get(); for kFirst,
  /// of a parameter that no plan has needed here, what was set or adopted counts.
  std::string hash(int replica = kFirst) const;
  /// Number of trained values.
  std::int64_t trained_elements() const;

  /// For plans that hold a lease, or are about to: the tensor itself, and its counter.
  const Tensor& borrowed(const ParameterRef& ref) const;
  std::shared_ptr<UpdateCounter> counter(const ParameterRef& ref) const;
  /// The same of some rows, which count apart during a run; afterwards the copy has had as many updates as those of its
  /// rows that have had most. Without rows: of all of them.
  Tensor borrowed(const ParameterRef& ref, const std::optional<RowRange>& rows) const;
  std::shared_ptr<UpdateCounter> counter(const ParameterRef& ref, const std::optional<RowRange>& rows) const;

 private:
  friend class Lease;
  friend class ParameterReader;
  struct Copy;
  struct Parameter;
  struct State;
  std::optional<Version> start_value(const std::string& name) const;

  std::unique_ptr<State> state_;
};

}  // namespace troupe
