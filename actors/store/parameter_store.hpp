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

/// The position of a training: the next step, and the batch and epoch that it reads.
struct TrainingPosition {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  std::int64_t batch = 0;
  /// The data of an epoch that was stopped in the middle: its rows, the rows of a batch, and a hash of the shards, 0
  /// without shards.
  std::int64_t rows = 0;
  std::int64_t batch_rows = 0;
  std::int64_t layout = 0;

  bool operator==(const TrainingPosition&) const = default;
};

class Lease;
class UpdateCounter;

/// Parameters and optimizer state, one copy per replica. The store outlives plans, which borrow copies for a run: to
/// write (the plan works on the tensors in place, and is their only user) or to read (together with other readers).
/// Each copy counts its updates. A copy that is behind another one is updated when it is borrowed. Copies that a failed
/// run may have left half-written are refused until recover() or set().
///
/// A copy lies on the device of its replica. Values can be read only at step boundaries: while a run writes, reading
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

  /// Adds a copy unless the store has it. Its value is that of another copy, otherwise the one given to set(),
  /// otherwise that of its initializer. A state that replicas have for themselves is initialized again if its shape has
  /// changed. Throws Error if the store has the parameter with another shape or dtype, a run writes to it, or no copy
  /// is whole.
  void add(const PlanParameter& parameter);

  /// Notes the parameters that a plan trains, in its order. Perhaps only some of them are added here. Start values and
  /// hash() depend on the order.
  void note_order(const std::vector<PlanParameter>& parameters);
  /// Everything in the store: first the trained parameters in the order of note_order(), then the rest by name.
  std::vector<Entry> entries() const;
  /// In place of a replica: the lowest replica with a copy in this process.
  static constexpr int kFirst = -1;
  /// The value of a copy, in host memory. Throws Error if there is no such copy, a run writes to it, or it is broken.
  Tensor get(const std::string& name, int replica = kFirst) const;
  /// Writes the value into all copies, and makes broken copies whole. If the parameter is not in the store yet, it will
  /// start with the value. Throws Error if shape or dtype differ, or while a run uses the parameter.
  void set(const std::string& name, const Tensor& value);

  /// A value with its number of updates.
  struct Version {
    std::int64_t updates = 0;
    Tensor value;
  };
  /// The newest whole copy, in host memory, or the start value from set(). Nothing if there is neither. Throws Error
  /// while a run writes to the parameter.
  std::optional<Version> newest(const std::string& name) const;
  /// The number of updates of newest(). Nothing if there is no such version.
  std::optional<std::int64_t> newest_updates(const std::string& name) const;
  /// Like set(), with the number of updates of another store's value.
  void adopt(const std::string& name, const Version& version);
  /// The names of entries() and of all start values from set(). States that replicas have for themselves, see
  /// PlanParameter::per_replica, are in neither.
  std::vector<std::string> names() const;
  /// The names of the start values from set() that no plan has used yet.
  std::vector<std::string> unclaimed() const;
  /// Drops such a start value, if there is one of that name.
  void forget(const std::string& name);

  TrainingPosition position() const;
  void set_position(const TrainingPosition& position);

  /// Borrows copies for a run, and updates copies that are behind. Waits for a ParameterReader that is reading. Copies
  /// in `alone`, a part of the written ones, may be updated at another pace than the rest of their replica. Throws
  /// Error if another run uses copies in a conflicting way, or if one is broken. The lease must not outlive the store.
  Lease borrow(std::vector<ParameterRef> read, std::vector<ParameterRef> written, const std::string& borrower,
               const std::vector<ParameterRef>& alone = {});
  /// A text that names the broken replicas and the reasons. Empty if no copy is broken.
  std::string broken() const;
  /// Replaces broken copies by the newest whole copy of another replica. States that a replica has for itself are
  /// initialized again. Throws Error if there is no whole copy.
  void recover();

  /// xxh3 (64 bits, hexadecimal) of all trained parameters of a replica, in order. For kFirst, a parameter that no plan
  /// has needed here counts with its start value. Throws Error like get().
  std::string hash(int replica = kFirst) const;
  /// Number of elements of all trained parameters.
  std::int64_t trained_elements() const;

  /// The tensor of a copy, or of some of its rows, for plans that have or will have a lease. Nothing: all rows.
  const Tensor& borrowed(const ParameterRef& ref) const;
  Tensor borrowed(const ParameterRef& ref, const std::optional<RowRange>& rows) const;
  /// The counter of a copy, or of some of its rows, which count separately during a run. After the run the count of the
  /// copy is the largest count of its rows.
  std::shared_ptr<UpdateCounter> counter(const ParameterRef& ref, const std::optional<RowRange>& rows = {}) const;

 private:
  friend class Lease;
  friend class ParameterReader;
  struct Copy;
  struct Parameter;
  struct State;

  std::unique_ptr<State> state_;
};

/// The stores of the parts of one training.
using Stores = std::vector<std::shared_ptr<ParameterStore>>;

/// Sets the stores to the newest values that any of them has. Does nothing if a store is broken. Throws Error while a
/// run writes to a store.
void synchronize(const Stores& stores);

/// Replaces broken copies by the newest whole copy in any of the stores. Throws Error if there is none.
void recover(const Stores& stores);

}  // namespace troupe
