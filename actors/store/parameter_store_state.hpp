#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/store/lease.hpp"
#include "troupe/actors/store/trainer_positions.hpp"
#include "troupe/actors/store/update_counter.hpp"

namespace troupe {

/// A fit that has registered with a store; see StepBoundaries.
struct RegisteredFit {
  static constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();

  /// Calls make_request, unless the fit is over.
  void request();

  std::mutex request_mutex;  // guards make_request
  std::function<void()> make_request;
  // The mutex of the store guards the others.
  std::set<std::string> parameters;  // the names of all that the fit uses
  std::thread::id driver = {};
  bool opens_between_runs = false;
  bool in_run = false;          // from note_run() to open() or close()
  std::uint64_t admits = kAll;  // visits with lower numbers may use parameters that no run writes
};

/// Copies of parameters at one step boundary of the fit that uses them, by name and replica.
struct PublishedVersion {
  std::map<ParameterRef, Tensor> values;
  std::chrono::steady_clock::time_point at;

  bool has(const std::vector<ParameterRef>& refs) const;
};

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
  /// Whether another copy of the same model has more updates, and no run writes it.
  bool is_behind(const ParameterRef& ref) const;
  /// Brings a copy that is behind to the value of the newest copy. Nothing may read it.
  void refresh(const ParameterRef& ref);
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
    /// Waits until `is_free` is true at a step boundary of all registered fits. Throws Error after kBoundaryLimit. Does
    /// not wait if there is no fit, or on the thread of a fit in a run. The caller must check that the parameters are
    /// free. A fit that begins waits for the end of the visit.
    Visit(State& state, std::unique_lock<std::mutex>& lock, const std::function<bool()>& is_free);
    ~Visit();
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    State& state_;
    std::optional<std::uint64_t> number_;  // nothing on the thread of a fit in a run
  };
  /// Whether all fits of other threads let a visit with this number use parameters that no run writes.
  bool admits(std::uint64_t visit) const;
  /// Whether a run writes a copy of the parameter.
  bool is_written(const std::string& name) const;
  /// Whether a fit that uses one of the parameters is in a run, or a run writes one of them.
  bool are_in_run(const std::vector<ParameterRef>& refs) const;
  /// Whether a fit that the calling thread drives is in a run.
  bool drives_run() const;
  /// Asks all fits for a boundary. Releases the lock meanwhile.
  void request_boundary(std::unique_lock<std::mutex>& lock);
  /// Waits until `is_reached` is true, at most for kBoundaryLimit, and returns whether it is. Asks for a boundary again
  /// and again, at the earliest kLeastRun after the last one, so that training advances however often it is asked.
  bool await_boundary(std::unique_lock<std::mutex>& lock, const std::function<bool()>& is_reached);
  /// Returns the published version that has the copies `refs` if a fit is in a run that uses one of them, else null. If
  /// there is no version yet, asks for one and waits, at most for kBoundaryLimit. Null, too, after this time, or on the
  /// thread of the fit if it has published none.
  std::shared_ptr<const PublishedVersion> await_version(std::unique_lock<std::mutex>& lock,
                                                        const std::vector<ParameterRef>& refs);
  /// Asks for a new version with these copies and does not wait for it.
  void request_version(std::unique_lock<std::mutex>& lock, const std::vector<ParameterRef>& refs);
  /// Publishes a version of the wanted copies, with those of the version before that a run uses now. Releases the lock
  /// while it copies them.
  void publish(std::unique_lock<std::mutex>& lock);

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
  std::chrono::steady_clock::time_point last_boundary, last_request;
  std::uint64_t next_visit = 1;
  std::set<std::uint64_t> visits;                     // numbers of the visits that wait or use parameters
  std::set<ParameterRef> wanted;                      // copies that the next version must have
  std::shared_ptr<const PublishedVersion> published;  // null if no fit is registered
};

}  // namespace troupe
