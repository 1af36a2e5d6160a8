#pragma once

#include <algorithm>
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
#include "troupe/actors/store/lease.hpp"
#include "troupe/actors/store/update_counter.hpp"

namespace troupe {

struct ParameterStore::Copy {
  Tensor tensor;
  // Shared with the actors that update the copy: the actors of a run that was given up may still count.
  std::shared_ptr<UpdateCounter> counter = std::make_shared<UpdateCounter>();
  /// The counters of rows that different actors update, such as the shards of a parameter.
  std::map<RowRange, std::shared_ptr<UpdateCounter>> of_rows = {};
  int readers = 0;
  int accesses = 0;    // number of ParameterReaders that read the copy now
  std::string writer;  // the run that has borrowed the copy to write, or empty
  std::string broken;  // the reason if the copy is broken, or empty
  /// Copies of a parameter with one lineage and one number of updates have equal values. A run that does not keep its
  /// copies equal gives each copy that it writes a lineage of its own.
  std::uint64_t lineage = 0;
  /// A run that was given up may still write to the tensor.
  bool abandoned = false;

  bool is_being_updated() const;
  bool may_still_be_written() const;
  /// Called when a run begins: sets the counters of rows to the count of the whole copy.
  void begin_apart() const;
  /// Called when a run ends: sets the count of the whole copy to the largest count of its rows.
  void end_apart() const;
};

struct ParameterStore::Parameter {
  TensorInfo info;
  bool trainable = false;
  std::map<int, Copy> copies;  // by replica
  /// The initializer, if this is a state that every replica has for itself; see PlanParameter::per_replica. Else
  /// nothing.
  std::optional<Initializer> per_replica = {};
};

/// Copies a tensor to new host memory.
Tensor host_clone(const Tensor& tensor);

/// State that the ParameterStore, its leases and its readers share. The caller of a function must hold the mutex. A
/// function that may wait takes the caller's lock as an argument.
struct ParameterStore::State {
  explicit State(std::uint64_t seed_of_all) : seed(seed_of_all) {}

  const Copy& find(const ParameterRef& ref) const;
  Copy& find(const ParameterRef& ref);
  const Copy* newest_whole(const Parameter& parameter) const;
  /// The version of newest_whole(), nothing if that is null. Version::value shares the memory of the copy.
  std::optional<Version> newest(const Parameter& parameter) const;
  /// The value that ParameterStore::set() or adopt() has kept for a parameter that no plan has added yet, or nothing.
  std::optional<Version> start_value(const std::string& name) const;
  /// Erases the planned state in all replicas if it is per_replica and the plan gives it another shape or dtype. Throws
  /// Error while a run uses the state.
  void drop_misfit_state(const PlanParameter& planned);
  Tensor first_value(const PlanParameter& planned, const Parameter& parameter);
  void check_free(const ParameterRef& ref, bool to_write) const;
  void check_whole(const ParameterRef& ref) const;
  /// Waits until no ParameterReader reads the copies, at most for kAccessLimit. Does not throw if one still reads then.
  /// No new access begins meanwhile, so that readers which follow each other cannot keep a writer waiting.
  void wait_for_accesses(std::unique_lock<std::mutex>& lock, const std::vector<ParameterRef>& refs) const;
  /// Waits until no writer waits for accesses, at most for kAccessLimit.
  void wait_for_writers(std::unique_lock<std::mutex>& lock) const;
  /// The version that a parameter has after ParameterStore::set(). Throws Error as set() does.
  Version next_version(const std::string& name, const Tensor& value) const;
  /// Writes each version into all copies of its parameter, or keeps it as the start value if the store lacks the
  /// parameter. Throws Error while a run uses one of the copies, and writes none then.
  void adopt(std::unique_lock<std::mutex>& lock, const std::vector<std::pair<std::string, Version>>& versions);
  static void restore(Copy& copy, const TensorInfo& info, const Version& version);
  void refresh(const ParameterRef& ref);
  /// The version that replaces broken copies: the newest whole copy, which must exist. For a state that every replica
  /// has for itself: its initial value, with 0 updates.
  Version version_to_recover(const std::string& name, const Parameter& parameter) const;
  /// Initializes the value of a parameter from the seed and the position of its name in `trained`.
  void fill(const Tensor& value, const std::string& name, const Initializer& initializer) const;
  std::string describe_broken() const;

  void note_trained(const std::string& name) {
    if (std::ranges::find(trained, name) == trained.end()) trained.push_back(name);
  }

  const std::uint64_t seed;
  mutable std::mutex mutex;
  mutable std::condition_variable access_over;
  mutable int waiting_writers = 0;   // threads in wait_for_accesses()
  std::vector<std::string> trained;  // names in the order of note_order(); the store may lack some of the parameters
  std::map<std::string, Parameter> parameters;
  std::map<std::string, Version> start_values;
  std::map<std::string, TrainingPosition> positions;  // by trainer
  std::set<std::string> trainers;                     // names of the trainers that are registered
  int unnamed_trainers = 0;                           // number of trainers without a name that have been registered
  /// Incremented when a copy may have got another tensor or other elements, and when a run borrows copies to write.
  std::uint64_t changes = 1;
};

}  // namespace troupe
