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
  // Shared with the plan: an abandoned plan may still count.
  std::shared_ptr<UpdateCounter> counter = std::make_shared<UpdateCounter>();
  /// Counters of the rows that actors update separately.
  std::map<RowRange, std::shared_ptr<UpdateCounter>> of_rows = {};
  int readers = 0;
  int accesses = 0;    // ParameterReaders that read it now
  std::string writer;  // the run that borrows it to write, or empty
  std::string broken;  // the reason if it is broken, or empty
  /// An abandoned run may still write to the tensor.
  bool abandoned = false;

  bool is_being_updated() const;
  bool may_still_be_written() const;
  /// Sets the counters of rows to the count of the whole copy.
  void begin_apart() const;
  /// Sets the count of the whole copy to the largest count of its rows.
  void end_apart() const;
};

struct ParameterStore::Parameter {
  TensorInfo info;
  bool trainable = false;
  std::map<int, Copy> copies;  // by replica
  /// The initializer of a state that every replica has for itself; see PlanParameter::per_replica.
  std::optional<Initializer> per_replica = {};
};

/// A copy in host memory.
Tensor host_clone(const Tensor& tensor);

/// State that the store, its leases and its readers share. The caller holds the mutex; functions that may wait take the
/// lock.
struct ParameterStore::State {
  explicit State(std::uint64_t seed_of_all) : seed(seed_of_all) {}

  const Copy& find(const ParameterRef& ref) const;
  Copy& find(const ParameterRef& ref);
  const Copy* newest_whole(const Parameter& parameter) const;
  /// The version of that copy. Its value is the tensor of the copy.
  std::optional<Version> newest(const Parameter& parameter) const;
  /// The value from ParameterStore::set() with which a parameter starts that no plan has used yet.
  std::optional<Version> start_value(const std::string& name) const;
  /// Forgets the state of this name that replicas have for themselves if its shape differs: the plan has another
  /// layout. Throws Error while a run uses it.
  void drop_misfit_state(const PlanParameter& planned);
  Tensor first_value(const PlanParameter& planned, const Parameter& parameter);
  void check_free(const ParameterRef& ref, bool to_write) const;
  void check_whole(const ParameterRef& ref) const;
  /// Waits for a limited time until no ParameterReader reads the copies.
  void wait_for_accesses(std::unique_lock<std::mutex>& lock, const std::vector<ParameterRef>& refs) const;
  /// Writes a value into all copies of a parameter, or keeps it as the start value. Throws Error while a run uses one.
  void adopt(std::unique_lock<std::mutex>& lock, const std::string& name, const Version& version);
  static void restore(Copy& copy, const TensorInfo& info, const Version& version);
  void refresh(const ParameterRef& ref);
  /// The value that replaces broken copies. There must be a whole copy, unless every replica has the state for itself.
  Version version_to_recover(const std::string& name, const Parameter& parameter) const;
  /// Writes the start value of a parameter.
  void fill(const Tensor& value, const std::string& name, const Initializer& initializer) const;
  std::string describe_broken() const;

  void note_trained(const std::string& name) {
    if (std::ranges::find(trained, name) == trained.end()) trained.push_back(name);
  }

  const std::uint64_t seed;
  mutable std::mutex mutex;
  mutable std::condition_variable access_over;
  std::vector<std::string> trained;  // names in order; the store may lack some of them
  std::map<std::string, Parameter> parameters;
  std::map<std::string, Version> start_values;
  TrainingPosition position;
  /// Counts the events after which a copy may be another tensor, hold other elements, or be in use by a writer.
  std::uint64_t changes = 1;
};

}  // namespace troupe
