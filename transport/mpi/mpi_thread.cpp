#include "troupe/transport/mpi/mpi_thread.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <future>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/float_mode.hpp"
#include "troupe/ops/core/hash.hpp"
#include "troupe/ops/core/signals_blocked.hpp"

namespace troupe::mpi {

namespace {

constexpr std::chrono::seconds kJoinLimit{60}, kShutLimit{10};
// MPI cannot wait for its operations and for a new one from another thread at once, so the thread of MpiThread polls
// MPI while operations run: without a pause for kEagerRounds rounds after an operation has begun or ended, then at
// intervals of kPause.
constexpr int kEagerRounds = 1'000;
constexpr std::chrono::microseconds kPause{100};

}  // namespace

void expect_success(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw Error("mpi", std::string(call) + ": " + std::string(text.data(), static_cast<std::size_t>(length)));
}

MpiThread& MpiThread::instance() {
  // The object is never destroyed: its thread may still be in a call of MPI when the process ends.
  static auto* const thread = [] {
    auto* created = new MpiThread;
    std::atexit([] { instance().shut(); });
    return created;
  }();
  return *thread;
}

MpiThread::MpiThread() {
  std::promise<void> initialized;
  auto ready = initialized.get_future();
  const SignalsBlocked blocked;
  thread_ = std::thread([this, &initialized] {
    // MPI adds numbers up on this thread.
    set_float_mode(kDefaultFloatMode);
    try {
      initialize();
    } catch (...) {
      initialized.set_exception(std::current_exception());
      return;
    }
    initialized.set_value();
    run();
  });
  try {
    ready.get();
  } catch (...) {
    thread_.join();
    throw;
  }
}

void MpiThread::shut() {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  posted_.notify_all();
  const bool ended = changed_.wait_for(lock, kShutLimit, [this] { return ended_; });
  lock.unlock();
  ended ? thread_.join() : thread_.detach();
}

void MpiThread::initialize() {
  int provided = 0;
  expect_success(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (provided < MPI_THREAD_FUNNELED) throw Error("mpi", "this MPI cannot be used in a program with threads");
  expect_success(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
  expect_success(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
}

void MpiThread::run() {
  while (true) {
    {
      std::lock_guard lock(mutex_);
      if (stopping_) break;
    }
    begin_posted();
    idle_rounds_ = test_running() ? 0 : idle_rounds_ + 1;
    wait_for_work();
  }
  // MPI_Finalize() could wait for ranks that are gone, so it is left out while operations run and after abandon(). The
  // job's launcher, such as mpirun, cleans up after processes that do not finalize MPI.
  if (running_.empty() && !abandoned_) MPI_Finalize();
  std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

void MpiThread::begin_posted() {
  std::deque<std::shared_ptr<Operation>> posted;
  {
    std::lock_guard lock(mutex_);
    posted.swap(queue_);
  }
  for (auto& operation : posted) {
    idle_rounds_ = 0;
    try {
      const auto request = operation->begin();
      running_.push_back({std::move(operation), request});
    } catch (const std::exception& error) {
      operation->error = error.what();
      operation->done = true;
      operation->listeners.notify();
    }
  }
}

/// Tests all running operations, and notifies the listeners of those that have ended. Returns true if one has ended.
bool MpiThread::test_running() {
  const auto ended = [](Running& running) {
    int done = 0;
    MPI_Status status{};
    const int code = MPI_Test(&running.request, &done, &status);
    if (code == MPI_SUCCESS && done == 0) return false;
    auto& operation = *running.operation;
    try {
      expect_success(code, "MPI_Test");
      int bytes = 0;
      MPI_Get_count(&status, MPI_BYTE, &bytes);
      operation.received_bytes = static_cast<std::size_t>(std::max(0, bytes));
    } catch (const Error& error) {
      operation.error = error.what();
    }
    operation.done = true;
    operation.listeners.notify();
    return true;
  };
  return std::erase_if(running_, ended) > 0;
}

void MpiThread::wait_for_work() {
  std::unique_lock lock(mutex_);
  if (stopping_ || !queue_.empty()) return;
  if (running_.empty())
    posted_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
  else if (idle_rounds_ > kEagerRounds)
    posted_.wait_for(lock, kPause);
}

void MpiThread::post(std::shared_ptr<Operation> operation) {
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(std::move(operation));
  }
  posted_.notify_all();
}

MPI_Comm MpiThread::join(const std::string& name, const std::vector<int>& ranks) {
  Hash hash;
  hash.add(name);
  const auto tag = static_cast<int>(hash.digest() & 0x3fff);
  // The operation shares the promise, because join() may have thrown for its time limit before MPI returns.
  const auto joined = std::make_shared<std::promise<MPI_Comm>>();
  auto result = joined->get_future();
  auto operation = std::make_shared<Operation>();
  operation->begin = [=]() -> MPI_Request {
    MPI_Group world = MPI_GROUP_NULL, group = MPI_GROUP_NULL;
    MPI_Comm communicator = MPI_COMM_NULL;
    try {
      expect_success(MPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group");
      expect_success(MPI_Group_incl(world, static_cast<int>(ranks.size()), ranks.data(), &group), "MPI_Group_incl");
      expect_success(MPI_Comm_create_group(MPI_COMM_WORLD, group, tag, &communicator), "MPI_Comm_create_group");
      MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
      joined->set_value(communicator);
    } catch (...) {
      joined->set_exception(std::current_exception());
    }
    return MPI_REQUEST_NULL;
  };
  post(std::move(operation));
  if (result.wait_for(kJoinLimit) == std::future_status::ready) return result.get();
  abandon();
  throw Error("mpi", "not all processes have come to make '" + name + "'");
}

}  // namespace troupe::mpi
