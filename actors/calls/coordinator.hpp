#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "troupe/actors/calls/remote_call.hpp"
#include "troupe/actors/system/runtime.hpp"
#include "troupe/transport/membership/cluster.hpp"

namespace troupe {

struct CoordinatorOptions {
  /// Number of workers in this process, each with a thread of its own.
  int local_workers = 0;
  /// If not null, every process but rank 0 is a worker, and must call serve_calls(). Such a process may be lost and may
  /// come back.
  std::shared_ptr<Cluster> cluster = {};
  /// Largest number of calls that a worker has at the same time: those that it executes, and those that wait at the
  /// worker.
  int in_flight = 2;
  /// The longest time for which join() and fetch() wait while no call ends; then they throw Error. Must be above 0.
  std::chrono::milliseconds limit{600'000};
};

/// The future result of a call.
class RemoteValue {
 public:
  /// Whether the call has ended: with a result, with an error, or canceled.
  bool is_ready() const { return result_.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }

 private:
  friend class Coordinator;
  explicit RemoteValue(std::shared_future<std::vector<Tensor>> result) : result_(std::move(result)) {}
  std::shared_future<std::vector<Tensor>> result_;
};

/// Schedules calls of functions to workers that do not wait for each other, like TensorFlow's ClusterCoordinator. A
/// call goes to the worker with the fewest calls. If a worker is lost, other workers execute its open calls again, so a
/// call may be executed more than once; its additions to variables are applied once. A call that fails cancels all open
/// calls.
///
/// Must be used on one thread at a time. The workers are actors.
class Coordinator {
 public:
  /// Only one Coordinator may be made for a cluster. Throws Error if there are no workers, if this process is not rank
  /// 0, or if an option is out of range.
  Coordinator(const Runtime& runtime, CallFunctions functions, CoordinatorOptions options);
  /// Ends serve_calls() in the other processes. Open calls are dropped.
  ~Coordinator();
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  /// The variables that calls read and add to. They lie in this process.
  Variables& variables();
  /// Schedules a call, and returns at once. If a call has failed since the last throw, throws the first such error and
  /// schedules nothing. Throws Error if there is no function of that name, if an input is null, or if there are too
  /// many inputs.
  RemoteValue schedule(const std::string& function, std::vector<Tensor> inputs = {});
  /// Waits until no call is open. If a call has failed since the last throw, throws the first such error.
  void join();
  /// Whether no call is open.
  bool done() const;
  /// Waits for a call and returns its outputs. Throws its error, or Error if it was canceled.
  std::vector<Tensor> fetch(const RemoteValue& value);
  /// The current number of workers.
  int workers() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

struct ServeOptions {
  /// Number of threads that execute calls. At most CoordinatorOptions::in_flight of them are busy at the same time.
  int threads = 1;
  /// Called before every wait for a frame, and at least every 100 ms. If it returns true, serve_calls() returns, and
  /// the worker's open calls go to other workers.
  std::function<bool()> stop_requested = {};
};

/// Serves as a worker of the Coordinator on rank 0: executes calls until the coordinator has ended. Throws Error if
/// this process is rank 0, if rank 0 is lost, or if rank 0 takes this process for lost.
void serve_calls(const Runtime& runtime, const std::shared_ptr<Cluster>& cluster, CallFunctions functions,
                 const ServeOptions& options = {});

}  // namespace troupe
