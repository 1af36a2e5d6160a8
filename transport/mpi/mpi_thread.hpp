#pragma once

#include <mpi.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "troupe/ops/core/tensor.hpp"
#include "troupe/transport/progress_listener.hpp"

namespace troupe::mpi {

/// A nonblocking operation of MPI, such as MPI_Ibcast: the thread of MpiThread begins it, and MPI does it in the
/// background.
struct Operation {
  /// Begins the operation and returns MPI's request. Called on the thread of MpiThread. An exception ends the
  /// operation; its text becomes `error`.
  std::function<MPI_Request()> begin;
  /// The memory that MPI reads and writes. MpiThread holds the operation until MPI has finished, even if the collective
  /// has failed. Other code must not access the memory before `done` is true.
  Tensor from, to;
  ProgressListeners listeners{1};
  std::size_t received_bytes = 0;
  std::string error;               // text of the failure, or empty; valid when done
  std::atomic<bool> done = false;  // true once the operation has ended or could not begin; written last
};

/// Throws Error with `call` and MPI's text unless `code` is MPI_SUCCESS.
void expect_success(int code, const char* call);

/// The one thread of this process that calls MPI. The first call of instance() starts the thread and initializes MPI.
/// At its exit, the process waits for the end of the thread, at most 10 seconds, because a call of MPI may never
/// return.
class MpiThread {
 public:
  /// Returns the only object of this class. Throws Error if MPI cannot be initialized.
  static MpiThread& instance();
  MpiThread(const MpiThread&) = delete;
  MpiThread& operator=(const MpiThread&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// Queues an operation. Operations are begun in the order in which they were posted. Any thread.
  void post(std::shared_ptr<Operation> operation);
  /// Notes that a rank may be gone: MPI is not finalized, because MPI_Finalize() would wait for the rank. Any thread.
  void abandon() { abandoned_ = true; }
  /// Makes an MPI communicator of `ranks`, ranks of the MPI job. All of them must call this function with the same
  /// name. Blocks until all have called it. Throws Error if MPI refuses, or if a rank does not call within 60 seconds.
  MPI_Comm join(const std::string& name, const std::vector<int>& ranks);

 private:
  struct Running {
    std::shared_ptr<Operation> operation;
    MPI_Request request;
  };
  MpiThread();
  void initialize();
  void shut();
  void run();
  void begin_posted();
  bool test_running();
  void wait_for_work();

  int rank_ = 0, size_ = 1;
  std::mutex mutex_;
  std::condition_variable posted_, changed_;
  std::deque<std::shared_ptr<Operation>> queue_;
  bool stopping_ = false, ended_ = false;
  std::atomic<bool> abandoned_ = false;
  std::vector<Running> running_;  // used by thread_ alone
  int idle_rounds_ = 0;           // rounds of run() since an operation began or ended; used by thread_ alone
  std::thread thread_;
};

}  // namespace troupe::mpi
