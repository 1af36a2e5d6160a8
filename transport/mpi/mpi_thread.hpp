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

/// An operation that MPI does in the background.
struct Operation {
  /// Begins the operation, on MPI's thread. Returns the request of MPI.
  std::function<MPI_Request()> begin;
  /// Memory that only MPI reads and writes. MPI holds it until it has finished, whatever becomes of the collective.
  Tensor from, to;
  ProgressListeners listeners{1};
  std::size_t received_bytes = 0;
  std::string error;               // text of the failure, or empty; valid when done
  std::atomic<bool> done = false;  // written last
};

/// Throws Error that quotes MPI's text if a call has failed.
void expect_success(int code, const char* call);

/// The one thread of this process that calls MPI. MPI begins with its first use and ends with the process. The end of
/// the process does not wait for calls of MPI that never return.
class MpiThread {
 public:
  /// Throws Error if MPI cannot be initialized.
  static MpiThread& instance();
  MpiThread(const MpiThread&) = delete;
  MpiThread& operator=(const MpiThread&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// Queues an operation. Operations are begun in the order in which they were posted. Any thread.
  void post(std::shared_ptr<Operation> operation);
  /// Notes that a rank may never come again: MPI is not finalized, because that would wait for the rank. Any thread.
  void abandon() { abandoned_ = true; }
  /// The MPI communicator of some ranks, all of which call this with the same name. Throws Error if one does not come.
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
  std::vector<Running> running_;  // used by the thread alone
  int idle_rounds_ = 0;           // tests since an operation began or ended; used by the thread alone
  std::thread thread_;
};

}  // namespace troupe::mpi
