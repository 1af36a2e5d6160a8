#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "troupe/actors/store/parameter_store.hpp"

namespace troupe {

struct RegisteredFit;

/// The step boundaries of a fit: the times between two of its runs, when no run of the fit writes to parameters. Other
/// threads that read or set parameters of the store meanwhile ask the fit for a boundary and wait for it. The fit opens
/// one for them, so that a value is set at one step boundary for all replicas, and publishes a version of the
/// parameters, from which ParameterReaders read while the fit goes on.
class StepBoundaries {
 public:
  enum class Open {
    between_runs,  ///< a thread need not ask for a boundary while no run is in progress
    on_request,    ///< all processes of a job must know of a boundary, so only the runs that they interrupt end at one
  };
  /// Registers a fit that uses these parameters with the store. `request` must make the run in progress end soon, on
  /// whose end the fit calls close(). It is called on any thread, also while no run is in progress. The calling thread
  /// is the driver.
  StepBoundaries(std::shared_ptr<ParameterStore> store, std::set<std::string> parameters, Open open,
                 std::function<void()> request);
  /// Removes the fit and the values that are published of its parameters. `request` is not called any more.
  ~StepBoundaries();
  StepBoundaries(const StepBoundaries&) = delete;
  StepBoundaries& operator=(const StepBoundaries&) = delete;

  /// Makes the calling thread the driver, which starts and ends the runs of the fit. While a run is in progress, the
  /// functions of the store do not wait for a boundary on this thread, and throw Error.
  void set_driver();
  /// Declares that no thread drives the fit until the next set_driver(): an actor drives it, whose thread runs other
  /// actors afterwards, and these may wait for a boundary.
  void clear_driver();
  /// Begins a boundary after a run whose updates the fit has counted. With Open::on_request, close() begins it.
  void open();
  /// Ends a boundary before the next run starts: waits, at most 10 s, for the threads that have asked for it. Threads
  /// that ask later wait for the next boundary. With Open::on_request, no thread is let in unless `requested` is true:
  /// the last run was interrupted.
  void close(bool requested);
  /// Publishes a version if a ParameterReader has asked this fit for one since the last one: the copies that living
  /// ParameterReaders read, except those that a run uses now. If they cannot be copied, an access of a ParameterReader
  /// throws the cause. Must be called between close() and note_run().
  void publish();
  /// Called when the run after close() has begun.
  void note_run();

 private:
  std::shared_ptr<ParameterStore> store_;
  std::shared_ptr<RegisteredFit> fit_;
};

}  // namespace troupe
