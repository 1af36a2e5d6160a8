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
  /// Number of workers in this process, each with a thread of its own unless RuntimeOptions::test_seed is set.
  int local_workers = 0;
  /// If not null, every process of the cluster but rank 0 is a worker, and must call serve_calls(). A worker process
  /// may be lost, and may come back as a new worker.
  std::shared_ptr<Cluster> cluster = {};
  /// Largest number of calls that are assigned to a worker at the same time, executing or waiting. Must be at least 1.
  int in_flight = 2;
  /// join() and fetch() throw Error if no call ends for this time while they wait. Must be above 0; more than 365 days
  /// count as 365 days.
  std::chrono::milliseconds limit{600'000};
};

/// The future outputs of a scheduled call; see Coordinator::fetch().
class RemoteValue {
 public:
  /// Whether the call has ended: with a result, with an error, or canceled.
  bool is_ready() const { return result_.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }

 private:
  friend class Coordinator;
  explicit RemoteValue(std::shared_future<std::vector<Tensor>> result) : result_(std::move(result)) {}
  std::shared_future<std::vector<Tensor>> result_;
};

/// Schedules calls of functions to workers, like TensorFlow's ClusterCoordinator. The workers do not wait for each
/// other. A call goes to the worker with the fewest calls. If a worker is lost, other workers execute its open calls
/// again, so a call may be executed more than once; the additions to variables of a call that succeeds are applied
/// once. A call that fails cancels all open calls.
///
/// A Coordinator must be used on one thread at a time. The workers are actors.
class Coordinator {
 public:
  /// Only one Coordinator may be made for a cluster. Throws Error if there are no workers, if this process is not rank
  /// 0, or if an option is out of range.
  Coordinator(const Runtime& runtime, CallFunctions functions, CoordinatorOptions options);
  /// Ends serve_calls() in the other processes. Open calls are dropped.
  ~Coordinator();
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  /// The variables that calls read and add to. They lie in the memory of this process.
  Variables& variables();
  /// Schedules a call, and returns at once. If a call has failed since schedule() or join() last threw the error of a
  /// call, throws the first such error and schedules nothing. Throws Error if there is no function of that name, if an
  /// input is null, or if there are too many inputs.
  RemoteValue schedule(const std::string& function, std::vector<Tensor> inputs = {});
  /// Waits until no call is open. If a call has failed since schedule() or join() last threw the error of a call,
  /// throws the first such error. Throws Error if no call ends for CoordinatorOptions::limit.
  void join();
  /// Whether no call is open.
  bool done() const;
  /// Waits for a call and returns its outputs. Throws Error if the call has failed or was canceled, or if no call ends
  /// for CoordinatorOptions::limit.
  std::vector<Tensor> fetch(const RemoteValue& value);
  /// The number of workers, in this and other processes, that have joined and are not lost.
  int workers() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

struct ServeOptions {
  /// Number of threads that execute calls, at least 1. At most CoordinatorOptions::in_flight of them are busy at the
  /// same time.
  int threads = 1;
  /// Called before every wait for a frame from rank 0, and at least every 100 ms while none arrives. If it returns
  /// true, serve_calls() returns, and the worker's open calls go to other workers.
  std::function<bool()> stop_requested = {};
};

/// Serves as a worker of the Coordinator on rank 0: executes calls until the Coordinator is destroyed or
/// ServeOptions::stop_requested returns true. Throws Error if this process is rank 0, if ServeOptions::threads is below
/// 1, if rank 0 is lost or sends a damaged frame, or if rank 0 takes this process for lost.
void serve_calls(const Runtime& runtime, const std::shared_ptr<Cluster>& cluster, CallFunctions functions,
                 const ServeOptions& options = {});

}  // namespace troupe
