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
  /// Number of workers in this process, each with a thread.
  int local_workers = 0;
  /// If given, every other process is a worker, and calls serve_calls(). Any of them may be lost, and may return.
  std::shared_ptr<Cluster> cluster = {};
  /// Number of calls that a worker has at once: the one that it executes, and those that wait for it.
  int in_flight = 2;
  /// Limit of the wait in join() and fetch() while no call ends.
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

/// Schedules calls of functions to workers that do not wait for each other, like TensorFlow's ClusterCoordinator. The
/// next worker with room executes a call. If a worker is lost, another one executes its calls again. A call is executed
/// at least once; its additions to variables are applied once. The first error cancels all open calls.
///
/// Used on one thread at a time. The workers are actors.
class Coordinator {
 public:
  /// A cluster has one coordinator in its life. Throws Error if there are no workers, this is not rank 0, or an option
  /// is out of range.
  Coordinator(const Runtime& runtime, CallFunctions functions, CoordinatorOptions options);
  /// Ends serve_calls() in the other processes. Open calls are dropped.
  ~Coordinator();
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  /// The variables that calls read and add to. They lie in this process.
  Variables& variables();
  /// Schedules a call, and returns at once. Throws the first error if a call has failed since the last throw. Throws
  /// Error if there is no such function.
  RemoteValue schedule(const std::string& function, std::vector<Tensor> inputs = {});
  /// Waits until no call is open. Throws the first error if one has failed.
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
  /// Number of threads that execute calls. More than CoordinatorOptions::in_flight are never busy at once.
  int threads = 1;
  /// Called now and then. True: the worker takes no further calls, and its calls go to others.
  std::function<bool()> stop_requested = {};
};

/// Serves as a worker of the Coordinator on rank 0: executes calls until the coordinator has ended. Throws Error if
/// rank 0 is lost, or takes this process for lost.
void serve_calls(const Runtime& runtime, const std::shared_ptr<Cluster>& cluster, CallFunctions functions,
                 const ServeOptions& options = {});

}  // namespace troupe
