#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "troupe/actors/plan/plan.hpp"

namespace troupe {

/// Where a training is: what the next step is, and which batch of which epoch it reads.
struct TrainingPosition {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  std::int64_t batch = 0;
  /// The data of an epoch that was left in the middle: its rows, and the rows of a batch.
  std::int64_t rows = 0;
  std::int64_t batch_rows = 0;

  bool operator==(const TrainingPosition&) const = default;
};

/// Counts the updates of one copy of a parameter. Written by the one actor that updates it.
class UpdateCounter {
 public:
  void begin_update() { writing_.store(true, std::memory_order_relaxed); }
  void finish_update() {
    updates_.store(updates_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    writing_.store(false, std::memory_order_release);
  }
  std::int64_t updates() const { return updates_.load(std::memory_order_relaxed); }
  /// An update has begun and not ended: the elements may be anything.
  bool writing() const { return writing_.load(std::memory_order_acquire); }
  /// Work that was launched may still write some day, though nobody waits for it.
  void abandon() { abandoned_.store(true, std::memory_order_release); }
  bool abandoned() const { return abandoned_.load(std::memory_order_acquire); }

 private:
  friend class ParameterStore;
  std::atomic<std::int64_t> updates_{0};
  std::atomic<bool> writing_{false}, abandoned_{false};
};

class Lease;

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

  explicit ParameterStore(std::uint64_t seed = 0) : seed_(seed) {}

  std::uint64_t seed() const { return seed_; }

  /// Makes sure that a copy is there. It starts as another copy is, or as set() said, or as its initializer says.
  /// Throws Error if the parameter is there with another shape or dtype, is being written, or has no whole copy left.
  void add(const PlanParameter& parameter);

  /// Everything in the store, parameters first in the order in which they came, then optimizer state by name.
  std::vector<Entry> entries() const;
  /// A copy in host memory, as it is now. Throws Error if it is not there, is being written, or is broken.
  Tensor get(const std::string& name, int replica = 0) const;
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
  /// All names: of entries(), and of what was set but is not there yet.
  std::vector<std::string> names() const;

  TrainingPosition position() const;
  void set_position(const TrainingPosition& position);

  /// Borrows copies for a run. Copies that are behind are brought up to date. Waits for a ParameterReader that is just
  /// reading. Throws Error if another run uses them in a way that conflicts, or if they are broken. The lease must not
  /// outlive the store.
  Lease borrow(std::vector<ParameterRef> read, std::vector<ParameterRef> written, const std::string& borrower);
  /// What is broken and why, for people; empty if nothing is.
  std::string broken() const;
  /// Replaces broken copies by the newest whole copy of another replica. Throws Error if there is none.
  void recover();

  /// xxh3 (64 bits, hexadecimal) of all trained parameters of a replica in order. Throws Error like get().
  std::string hash(int replica = 0) const;
  /// Number of trained values.
  std::int64_t trained_elements() const;

  /// For plans that hold a lease, or are about to: the tensor itself, and its counter.
  const Tensor& borrowed(const ParameterRef& ref) const;
  std::shared_ptr<UpdateCounter> counter(const ParameterRef& ref) const;

 private:
  friend class Lease;
  friend class ParameterReader;
  struct Copy {
    Tensor tensor;
    // Shared with the plan, which may be left behind and count on some day.
    std::shared_ptr<UpdateCounter> counter = std::make_shared<UpdateCounter>();
    int readers = 0;
    int accesses = 0;    // of ParameterReaders, which are short
    std::string writer;  // who borrows it to write
    std::string broken;  // why, if it is
    /// An abandoned run may still write to the tensor some day.
    bool abandoned = false;
  };
  struct Parameter {
    TensorInfo info;
    bool trainable = false;
    std::map<int, Copy> copies;  // by replica
  };

  const Copy& find(const ParameterRef& ref) const;
  Copy& find(const ParameterRef& ref);
  const Copy* newest_whole(const Parameter& parameter) const;
  Tensor first_value(const PlanParameter& parameter, const Parameter& known);
  void check_free(const ParameterRef& ref, bool to_write) const;
  void wait_for_accesses(std::unique_lock<std::mutex>& lock, const std::vector<ParameterRef>& refs) const;
  void restore_all(std::unique_lock<std::mutex>& lock, const std::string& name, Parameter& parameter,
                   const Version& version);
  static void restore(Copy& copy, const TensorInfo& info, const Version& version);
  void check_whole(const ParameterRef& ref) const;
  void refresh(const ParameterRef& ref);
  void give_back(const Lease& lease);
  void break_copies(const Lease& lease, const std::string& reason, bool abandoned, const std::set<int>& torn);
  std::string describe_broken() const;

  std::uint64_t seed_;
  mutable std::mutex mutex_;
  mutable std::condition_variable access_over_;
  std::vector<std::string> trained_;
  std::map<std::string, Parameter> parameters_;
  std::map<std::string, Version> start_values_;
  TrainingPosition position_;
  /// Counts everything after which a copy may be another tensor, hold other elements, or be in use by a writer.
  std::uint64_t changes_ = 1;
};

/// What a run has borrowed. If it is not given back clean, the copies it could write are checked: those of a replica
/// whose updates are all at the same count are whole, the others are broken.
class Lease {
 public:
  Lease() = default;
  Lease(Lease&& other) noexcept { *this = std::move(other); }
  Lease& operator=(Lease&& other) noexcept;
  ~Lease() { end_dirty("the run was given up"); }

  /// The run has ended as it should.
  void end_clean();
  /// The run has failed; nobody writes any more. The copies of the replicas that are `torn`, between this store and
  /// others, are broken in any case.
  void end_dirty(const std::string& reason, const std::set<int>& torn = {});
  /// By replica, how often its copies were updated under this lease: one number if they are whole.
  std::map<int, std::set<std::int64_t>> updates() const;
  /// The run was given up and may still write some day.
  void abandon(const std::string& reason);

 private:
  friend class ParameterStore;
  struct Written {
    ParameterRef ref;
    std::int64_t updates_before;
  };
  std::map<int, std::set<std::int64_t>> updates_locked() const;

  ParameterStore* store_ = nullptr;
  std::vector<ParameterRef> read_;
  std::vector<Written> written_;
};

}  // namespace troupe
