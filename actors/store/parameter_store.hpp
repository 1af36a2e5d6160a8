#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "troupe/actors/plan/parameter_ref.hpp"
#include "troupe/actors/plan/plan_fwd.hpp"
#include "troupe/ops/core/tensor.hpp"
#include "troupe/ops/graph/op.hpp"

namespace troupe {

/// The position of a trainer: its next step, and the epoch and the batch that this step reads.
struct TrainingPosition {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  std::int64_t batch = 0;
  /// The data of an epoch that was stopped in the middle: the rows of the data set, the rows of a batch, and the hash
  /// of the layout of the data in the processes, 0 if the data set is whole.
  std::int64_t rows = 0;
  std::int64_t batch_rows = 0;
  std::int64_t layout = 0;
  /// The identity of the data, see Dataset::content(), and of the seed; 0 if it is unknown.
  std::int64_t data = 0;

  bool operator==(const TrainingPosition&) const = default;
};

class Lease;
class UpdateCounter;

/// Parameters and optimizer state, one copy per replica. The store outlives plans, which borrow copies for a run: to
/// write (the run works on the tensors in place, and is their only user) or to read (together with other readers). Each
/// copy counts its updates. Before a copy is lent to a run, it gets the value of the newest copy of the parameter, that
/// is the copy with the most updates. A copy that a failed run may have left half-written is broken: it cannot be read
/// or borrowed until recover() or set() has replaced its value.
///
/// A copy lies on the device of its replica. While a fit writes to a parameter, add(), get(), set(), newest() and
/// hash() wait for a step boundary of the fit, at most 60 s; see StepBoundaries. They throw Error if there is none, as
/// on the thread that drives the fit, or if a run that belongs to no fit writes to the parameter. The other functions
/// do not wait. Thread-safe.
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

  /// Adds a replica's copy of a parameter unless the store has it. A copy that it has moves to the memory of the
  /// parameter's device; plans that were spawned before must be spawned anew then. The value of the copy is that of the
  /// newest other copy; if there is none, the start value from set(); if there is none, that of the initializer. A
  /// state that every replica has for itself, see PlanParameter::per_replica, is erased in all replicas first if its
  /// shape or dtype has changed. Throws Error if the store has the parameter or its start value with another shape or
  /// dtype, if a run writes to the parameter, or if all its copies are broken.
  void add(const PlanParameter& parameter);

  /// Notes the names and the order of the parameters that a plan trains. Initial values and hash() depend on the order.
  /// The store may lack some of these parameters, since add() adds them one by one.
  void note_order(const std::vector<PlanParameter>& parameters);
  /// The trained parameters of the store in the order of note_order(), then the others by name. States that every
  /// replica has for itself, see PlanParameter::per_replica, are left out.
  std::vector<Entry> entries() const;
  /// A value of `replica` that stands for the lowest replica with a copy of the parameter in this store, or for the
  /// newest copy if that is one of the same model with more updates.
  static constexpr int kFirst = -1;
  /// Copies the value of a replica's copy to host memory; for kFirst, the start value if no plan has added the
  /// parameter yet. Throws Error if there is no such copy, if a run writes to it (for kFirst: to any copy of the
  /// parameter), or if it is broken.
  Tensor get(const std::string& name, int replica = kFirst) const;
  /// Copies the values of several parameters at one time: if a fit trains them, at one step boundary.
  std::vector<Tensor> get(const std::vector<std::string>& names, int replica = kFirst) const;
  /// Writes the value into all copies of the parameter, which are whole afterwards, and counts one update. If the store
  /// lacks the parameter, keeps the value as its start value. Waits, at most 10 s, for ParameterReaders that read the
  /// copies. Throws Error if the value is null or has another shape or dtype than the parameter, or if the parameter is
  /// still in use.
  void set(const std::string& name, const Tensor& value);
  /// Sets several parameters at once, each like the other set(): a ParameterReader reads the old values of all of them
  /// or the new values of all of them. Sets none if it throws.
  using NamedValues = std::vector<std::pair<std::string, Tensor>>;
  void set(const NamedValues& values);

  /// A value with its number of updates.
  struct Version {
    std::int64_t updates = 0;
    Tensor value;
  };
  /// The value of the whole copy with the most updates, in host memory. If the store lacks the parameter, the
  /// parameter's start value. Nothing if there is neither. Throws Error while a run writes to the parameter.
  std::optional<Version> newest(const std::string& name) const;
  /// The number of updates of the version that newest() returns, or nothing if newest() returns nothing. Does not throw
  /// while a run writes.
  std::optional<std::int64_t> newest_updates(const std::string& name) const;
  /// Like set(), with a value and its number of updates from another store. The value must have the shape and dtype of
  /// the parameter.
  void adopt(const std::string& name, const Version& version);
  /// Adopts several values at once, like set() sets them.
  using NamedVersions = std::vector<std::pair<std::string, Version>>;
  void adopt(const NamedVersions& versions);
  /// The values of all names(), at one step boundary of the fits that train them, and the positions of all trainers at
  /// that boundary.
  struct Snapshot {
    NamedVersions values;
    std::map<std::string, TrainingPosition> positions;
  };
  /// Copies all values to host memory. Waits for a boundary and throws Error like newest(). Throws Error, too, if all
  /// copies of a parameter are broken.
  Snapshot snapshot() const;
  /// The names of entries() and of all start values. A checkpoint needs the values of all of them.
  std::vector<std::string> names() const;
  /// The names of all start values: values from set() or adopt() of parameters that no plan has added yet.
  std::vector<std::string> unclaimed() const;
  /// Drops the start value of this name, if there is one.
  void forget(const std::string& name);

  /// Sets every copy of each parameter and each state to the value of this replica's copy, and counts one update. Makes
  /// copies equal that a strategy without equal copies has trained; see Strategy::equal_copies(). Leaves states alone
  /// that every replica has for itself. Throws Error if the replica has no copy, if a copy of it is broken, or if a run
  /// uses a copy.
  void keep(int replica);

  /// The name of the first trainer on this store that gives no name; the next ones are "trainer_2", "trainer_3" ...
  static constexpr const char* kTrainer = "trainer";
  /// The position of a trainer; that of the beginning if the store has none of this name.
  TrainingPosition position(const std::string& trainer = kTrainer) const;
  void set_position(const TrainingPosition& position, const std::string& trainer = kTrainer);
  /// The positions of all trainers that have one, by name.
  std::map<std::string, TrainingPosition> positions() const;
  /// True if the store has a trainer, or a position, of another name than `trainer`.
  bool has_other_trainer(const std::string& trainer) const;
  /// Registers a trainer until the result is destroyed, which must not outlive the store. Returns `name`, or the next
  /// name of a trainer without one if `name` is empty. Throws Error if a trainer of this name is registered, or if the
  /// name has more than kMaxNameBytes / 2 bytes or expect_name() refuses it.
  std::shared_ptr<const std::string> enter_trainer(const std::string& name);

  /// Borrows copies for a run, and brings each to the value of the newest copy of its parameter. Waits, at most 10 s,
  /// for ParameterReaders that read the copies that change. `held` has the written copies that external actors hold;
  /// see HeldParameter::equal_updates and needs_whole_run. Throws Error if a run writes to one of the copies or to
  /// another copy of a parameter in `read`, if a copy that changes is still read, or if one is broken. The lease must
  /// not outlive the store.
  Lease borrow(std::vector<ParameterRef> read, std::vector<ParameterRef> written, const std::string& borrower,
               const std::vector<HeldParameter>& held);
  /// Marks copies as broken because of `reason`, unless they are broken. Throws Error if the store lacks one of them.
  void break_copies(const std::set<ParameterRef>& copies, const std::string& reason);
  /// A text that names the replicas with broken copies and the reasons. Empty if no copy is broken.
  std::string broken() const;
  /// Gives broken copies the value of the newest whole copy of the parameter. Broken states that every replica has for
  /// itself, see PlanParameter::per_replica, are initialized again. Throws Error if any other parameter has no whole
  /// copy, or if a run uses a broken copy.
  void recover();

  /// xxh3 (64 bits, hexadecimal) of all trained parameters of a replica, in the order of note_order(). For kFirst, a
  /// parameter that the store lacks counts with its start value. Throws Error like get().
  std::string hash(int replica = kFirst) const;
  /// The number of elements of the trained parameters that are in the store.
  std::int64_t trained_elements() const;

  /// The tensor of a copy, or a view of the given rows of it. Without `rows`, of all rows. The elements may be used
  /// only under a lease. Throws Error if there is no such copy.
  const Tensor& borrowed(const ParameterRef& ref) const;
  Tensor borrowed(const ParameterRef& ref, const std::optional<RowRange>& rows) const;
  /// Whether `tensor` is the tensor of a copy. False if there is no such copy.
  bool is_tensor_of(const ParameterRef& ref, const Tensor& tensor) const;
  /// The counter of the updates of a copy, or, with `rows`, a separate counter for these rows. At the end of a run the
  /// count of the copy becomes the largest count of its rows. Throws Error if there is no such copy.
  std::shared_ptr<UpdateCounter> counter(const ParameterRef& ref, const std::optional<RowRange>& rows = {}) const;

 private:
  friend class Lease;
  friend class ParameterReader;
  friend class StepBoundaries;
  struct Copy;
  struct Parameter;
  struct State;

  std::unique_ptr<State> state_;
};

/// The stores of one training: one for each part of the training's plan that this process runs.
using Stores = std::vector<std::shared_ptr<ParameterStore>>;

/// Brings every value to the version with the most updates that any of the stores has. Does nothing if a store has a
/// broken copy. Throws Error if a run uses a parameter whose versions differ.
void synchronize(const Stores& stores);

/// Calls ParameterStore::recover() of each store with broken copies. A parameter without a whole copy in such a store
/// first gets the newest whole value of the other stores. Throws Error if no store has one.
void recover(const Stores& stores);

}  // namespace troupe
