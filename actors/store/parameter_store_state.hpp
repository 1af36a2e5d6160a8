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
#include "troupe/actors/store/parameter_store.hpp"
#include "troupe/actors/store/update_counter.hpp"

namespace troupe {

struct ParameterStore::Copy {
  Tensor tensor;
  // Shared with the plan, which may be left behind and count on some day.
  std::shared_ptr<UpdateCounter> counter = std::make_shared<UpdateCounter>();
  /// Of rows that actors update apart.
  std::map<RowRange, std::shared_ptr<UpdateCounter>> of_rows = {};
  int readers = 0;
  int accesses = 0;    // of ParameterReaders, which are short
  std::string writer;  // who borrows it to write
  std::string broken;  // why, if it is
  /// An abandoned run may still write to the tensor some day.
  bool abandoned = false;

  bool is_being_updated() const;
  bool may_be_written_some_day() const;
  /// Counts the updates of rows from that of the whole copy on.
  void begin_apart() const;
  /// Counts them as updates of the whole copy.
  void end_apart() const;
};

struct ParameterStore::Parameter {
  TensorInfo info;
  bool trainable = false;
  std::map<int, Copy> copies;  // by replica
  /// Of what a replica has for itself: how it starts anew.
  std::optional<Initializer> own = {};
};

/// What the store, its leases and its readers share. All functions but those that take the lock need it held.
struct ParameterStore::State {
  explicit State(std::uint64_t seed_of_all) : seed(seed_of_all) {}

  const Copy& find(const ParameterRef& ref) const;
  Copy& find(const ParameterRef& ref);
  const Copy* newest_whole(const Parameter& parameter) const;
  /// Forgets what replicas have for themselves under that name, in another shape: the plan that wants it is laid out
  /// another way. Throws Error while a run uses it.
  void drop_misfit_state(const PlanParameter& wanted);
  Tensor first_value(const PlanParameter& parameter, const Parameter& known);
  void check_free(const ParameterRef& ref, bool to_write) const;
  void check_whole(const ParameterRef& ref) const;
  /// Waits, for a limited time, until no ParameterReader is reading the copies.
  void wait_for_accesses(std::unique_lock<std::mutex>& lock, const std::vector<ParameterRef>& refs) const;
  /// Writes a value into all copies, which nobody may use.
  void restore_all(std::unique_lock<std::mutex>& lock, const std::string& name, Parameter& parameter,
                   const Version& version);
  static void restore(Copy& copy, const TensorInfo& info, const Version& version);
  void refresh(const ParameterRef& ref);
  /// What broken copies become. There must be a whole one, or it is what a replica has for itself.
  Version version_to_recover(const std::string& name, const Parameter& parameter) const;
  /// Writes the value with which a parameter starts.
  void fill(const Tensor& value, const std::string& name, const Initializer& initializer) const;
  std::string describe_broken() const;

  void note_trained(const std::string& name) {
    if (std::ranges::find(trained, name) == trained.end()) trained.push_back(name);
  }

  const std::uint64_t seed;
  mutable std::mutex mutex;
  mutable std::condition_variable access_over;
  std::vector<std::string> trained;  // perhaps not all of them are there
  std::map<std::string, Parameter> parameters;
  std::map<std::string, Version> start_values;
  TrainingPosition position;
  /// Counts everything after which a copy may be another tensor, hold other elements, or be in use by a writer.
  std::uint64_t changes = 1;
};

}  // namespace troupe
