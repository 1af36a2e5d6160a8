#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "troupe/actors/calls/remote_call.hpp"
#include "troupe/actors/system/runtime.hpp"
#include "troupe/transport/membership/cluster.hpp"

namespace troupe {

struct CoordinatorOptions {
  /// Workers in this process, each a thread.
  int local_workers = 0;
  /// Null: there are no others. Else every other process is a worker, which calls serve_calls(); any of them may be
  /// lost, and may come back.
  std::shared_ptr<Cluster> cluster = {};
  /// Calls that a worker has at once: the one that it executes, and those that wait there for it.
  int in_flight = 2;
  /// How long join() and fetch() wait while no call ends.
  std::chrono::milliseconds limit{600'000};
};

struct PendingCall;

/// What a call will give.
class RemoteValue {
 public:
  /// Whether the call has ended, in whatever way.
  bool is_ready() const;

 private:
  friend class Coordinator;
  explicit RemoteValue(std::shared_ptr<PendingCall> call) : call_(std::move(call)) {}
  std::shared_ptr<PendingCall> call_;
};

/// Has functions executed by workers that do not wait for each other, as TensorFlow's ClusterCoordinator: each call by
/// whichever worker has room. A call whose worker is lost is executed again by another one: at least once, though what
/// it adds to variables is added once. The first error cancels all open calls.
///
/// One thread uses it at a time. Its workers are actors.
class Coordinator {
 public:
  /// A cluster has one coordinator in its life. Throws Error if there are no workers, this is not process 0, or an
  /// option is out of range.
  Coordinator(const Runtime& runtime, CallFunctions functions, CoordinatorOptions options);
  /// Ends serve_calls() in the other processes. Open calls are dropped.
  ~Coordinator();
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  /// Variables, which calls read and add to. They lie here.
  Variables& variables();
  /// Has a call executed. Returns at once. Throws the first error if a call has failed since the last time that was
  /// thrown, and Error if there is no such function.
  RemoteValue schedule(const std::string& function, std::vector<Tensor> inputs = {});
  /// Waits until no call is open. Throws the first error if one has failed.
  void join();
  /// Whether no call is open.
  bool done() const;
  /// Waits for a call. Throws its error, or Error if it was cancelled.
  std::vector<Tensor> fetch(const RemoteValue& value);
  /// How many workers there are now.
  int workers() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

struct ServeOptions {
  /// That execute calls. Of more than CoordinatorOptions::in_flight some are never busy.
  int threads = 1;
  /// Asked now and then; if true the worker takes no further calls, and those that it has go to others.
  std::function<bool()> stop_requested = {};
};

/// A worker of a Coordinator in process 0: executes what it is sent. Returns when the coordinator has gone. Throws
/// Error if process 0 is lost, or gives this one up.
void serve_calls(const Runtime& runtime, const std::shared_ptr<Cluster>& cluster, CallFunctions functions,
                 const ServeOptions& options = {});

}  // namespace troupe
