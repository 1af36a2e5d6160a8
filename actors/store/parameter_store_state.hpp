#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/store/lease.hpp"
#include "troupe/actors/store/published_versions.hpp"
#include "troupe/actors/store/registered_fit.hpp"
#include "troupe/actors/store/trainer_positions.hpp"
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
  /// The counter of the copy, or that of the given rows of it, which the first call makes.
  std::shared_ptr<UpdateCounter> counter_of(const std::optional<RowRange>& rows);
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
  /// Moves the copy of a parameter to the memory of the device in the plan. Throws Error if it is elsewhere and in use.
  void move(const PlanParameter& planned);
  /// Returns the value of a copy in new host memory. Throws Error like ParameterStore::get().
  Tensor value_of(const std::string& name, int replica) const;
  /// Whether the store has the copy, with the shape and dtype of the plan, in the memory of its device.
  bool has_copy(const PlanParameter& planned) const;
  /// Erases the planned state in all replicas if it is per_replica and the plan gives it another shape or dtype. Throws
  /// Error while a run uses the state.
  void drop_misfit_state(const PlanParameter& planned);
  Tensor first_value(const PlanParameter& planned, const Parameter& parameter);
  void check_free(const ParameterRef& ref, bool to_write) const;
  /// Throws Error if a run writes a copy of the parameter, whose value the copy `ref` may need. A copy of a state that
  /// every replica has for itself needs no other.
  void check_unwritten(const ParameterRef& ref) const;
  void check_whole(const ParameterRef& ref) const;
  /// Waits until no ParameterReader reads the copies, at most for kAccessLimit. Does not throw if one still reads then.
  /// No new access begins meanwhile, so that readers which follow each other cannot keep a writer waiting.
  void wait_for_accesses(std::unique_lock<std::mutex>& lock, const std::vector<ParameterRef>& refs) const;
  /// Waits until no writer waits for accesses, at most for kAccessLimit.
  void wait_for_writers(std::unique_lock<std::mutex>& lock) const;
  /// Throws Error if the value is an empty handle, or has another shape or dtype than the parameter.
  void expect_fits(const std::string& name, const Tensor& value) const;
  /// The version that a parameter has after ParameterStore::set() of a value.
  Version next_version(const std::string& name, const Tensor& value) const;
  /// Writes each version into all copies of its parameter, or keeps it as the start value if the store lacks the
  /// parameter. Throws Error while a run uses one of the copies, or as expect_fits() does, and writes none then.
  void adopt(std::unique_lock<std::mutex>& lock, const std::vector<std::pair<std::string, Version>>& values);
  static void restore(Copy& copy, const TensorInfo& info, const Version& version);
  /// Whether another copy of the same model has more updates, and no run writes it.
  bool is_behind(const ParameterRef& ref) const;
  /// The copy itself, or the newest one if the copy is behind.
  const Copy& current(const ParameterRef& ref) const;
  /// The copies that are behind.
  std::vector<ParameterRef> behind(const std::vector<ParameterRef>& refs) const;
  /// Brings the copies that are behind to the value of the newest copy. Throws Error if one of these is read, and
  /// changes none then.
  void refresh(const std::vector<ParameterRef>& refs);
  /// The version that replaces broken copies: the newest whole copy, which must exist. For a state that every replica
  /// has for itself: its initial value, with 0 updates.
  Version version_to_recover(const std::string& name, const Parameter& parameter) const;
  /// Initializes the value of a parameter from the seed and the position of its name in `trained`.
  void fill(const Tensor& value, const std::string& name, const Initializer& initializer) const;
  std::string describe_broken() const;

  // ---- Use of parameters during a fit; see StepBoundaries

  /// The use of parameters that no fit may write meanwhile. Must be destroyed under the mutex.
  class Visit {
   public:
    /// Waits until no run writes the parameters, at a step boundary of all registered fits that use one of them. Throws
    /// Error after kBoundaryLimit. Does not wait if there is no such fit, or on the thread of one that is in a run. The
    /// caller must check that the parameters are free. A fit that uses one of the parameters begins no run before the
    /// visit has ended.
    Visit(State& state, std::unique_lock<std::mutex>& lock, std::set<std::string> names);
    ~Visit() { end(); }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    void end();

    State& state_;
    std::optional<std::uint64_t> number_;  // nothing on the thread of a fit in a run
  };
  /// Whether all fits of other threads that use one of the parameters let a visit with this number use those that no
  /// run writes.
  bool admits(std::uint64_t visit, const std::set<std::string>& names) const;
  /// Whether a run writes a copy of the parameter.
  bool is_written(const std::string& name) const;
  /// Whether a fit uses one of the parameters.
  bool is_used(const std::set<std::string>& names) const;
  /// Whether a fit that uses one of the parameters is in a run, or a run writes one of them.
  bool are_in_run(const std::set<std::string>& names) const;
  /// Whether a fit that the calling thread drives, and that uses one of the parameters, is in a run.
  bool drives_run(const std::set<std::string>& names) const;
  /// A thread waits for a boundary, or for a version that the fits publish at one.
  enum class Wanted { boundary, version };
  /// Asks fits for a boundary or a version. Releases the lock meanwhile.
  void request(std::unique_lock<std::mutex>& lock, const std::vector<std::shared_ptr<RegisteredFit>>& asked,
               Wanted wanted);
  /// Waits until `is_reached` is true or no fit uses one of the parameters, at most for kBoundaryLimit, and returns
  /// whether that is so. Asks the fits that use one of the parameters again and again, at the earliest kLeastRun after
  /// the beginning of a run, so that training advances however often it is asked.
  bool await_boundary(std::unique_lock<std::mutex>& lock, const std::set<std::string>& names, Wanted wanted,
                      const std::function<bool()>& is_reached);

  // ---- Versions of parameters that fits publish for readers

  /// Whether all the copies have a published value.
  bool has_version(const ReadCopies& copies) const;
  /// Returns whether a fit that uses one of the copies is in a run and all of them have published values, which the
  /// caller then reads. If the fit is in a run and has published none, asks for a version and waits, at most for
  /// kBoundaryLimit. Does not wait on the thread of the fit. Throws Error if a fit could not copy the values; if there
  /// are older values, throws only once for a failure and those that follow it.
  bool await_version(std::unique_lock<std::mutex>& lock, const std::shared_ptr<const ReadCopies>& copies);
  /// Asks the fits that use these parameters for new values and does not wait for them.
  void request_version(std::unique_lock<std::mutex>& lock, const std::set<std::string>& names);
  /// If a version is wanted from the fit, publishes values of all copies that readers need and that no run uses now.
  /// The copies of one fit so have values of one boundary. Releases the lock while it copies them.
  void publish(std::unique_lock<std::mutex>& lock, RegisteredFit& fit);
  /// Drops the published values of these parameters, and of all parameters of the fits that use one of them. These fits
  /// publish new ones at their next boundaries. Called when there are newer values that another thread may have read.
  void drop_versions(const std::set<std::string>& names);
  struct CopyToPublish;
  std::vector<CopyToPublish> copies_to_publish();
  void end_publishing(RegisteredFit& fit, const std::vector<CopyToPublish>& copies, const std::string& failure);
  /// A fit that uses one of the parameters and whose last publish() has failed after the given number of failures, or
  /// null.
  RegisteredFit* find_publish_failure(const std::set<std::string>& names, std::uint64_t after) const;

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
  TrainerPositions trainers;
  /// Incremented when a copy may have got another tensor or other elements, and when a run borrows copies to write.
  std::uint64_t changes = 1;

  std::vector<std::shared_ptr<RegisteredFit>> fits;
  std::uint64_t next_visit = 1;
  std::map<std::uint64_t, std::set<std::string>> visits;  // visits that wait or use parameters: number, parameters
  std::map<ParameterRef, PublishedCopy> published;        // empty if no fit is registered
  std::set<std::weak_ptr<const ReadCopies>, std::owner_less<>>
      version_readers;                 // readers that have asked for a version
  std::uint64_t versions = 1;          // incremented when `published` changes
  std::uint64_t publish_failures = 0;  // number of failed calls of publish()
};

}  // namespace troupe
