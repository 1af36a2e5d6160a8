#include "troupe/tests/emulated_cuda/stream_thread.hpp"

#include <pthread.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

namespace emulated_cuda {

namespace {

// ThreadSanitizer regards successive work of one thread as ordered, so streams that are not ordered must not share a
// thread.
#if defined(__SANITIZE_THREAD__)
constexpr bool kReuse = false;
#else
constexpr bool kReuse = true;
#endif

/// A thread and its next work.
struct Worker {
  std::function<void()> work;
  std::condition_variable has_work;
};

/// The threads that wait for work. The mutex guards their `work`, too.
struct IdleWorkers {
  std::mutex mutex;
  std::vector<Worker*> workers;
};

/// Never destroyed, because threads wait here while the process ends.
IdleWorkers& idle_workers() {
  static auto* const idle = new IdleWorkers;
  return *idle;
}

void* run_worker(void* argument) {
  const std::unique_ptr<Worker> self(static_cast<Worker*>(argument));
  auto& idle = idle_workers();
  for (;;) {
    std::exchange(self->work, nullptr)();
    if (!kReuse) return nullptr;
    std::unique_lock lock(idle.mutex);
    idle.workers.push_back(self.get());
    self->has_work.wait(lock, [&] { return self->work != nullptr; });
  }
}

// Threads are detached when they are made: AddressSanitizer does not notice std::thread::detach, keeps every thread
// that has ended, and reports memory that a later thread with the same id refers to as leaked.
void start_worker(std::unique_ptr<Worker> worker) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  const int error = pthread_create(&thread, &attributes, run_worker, worker.get());
  pthread_attr_destroy(&attributes);
  if (error != 0) throw std::system_error(error, std::generic_category(), "[emulated CUDA] thread of a stream");
  static_cast<void>(worker.release());
}

}  // namespace

void run_on_thread(std::function<void()> work) {
  auto& idle = idle_workers();
  std::unique_lock lock(idle.mutex);
  if (idle.workers.empty()) {
    lock.unlock();
    auto worker = std::make_unique<Worker>();
    worker->work = std::move(work);
    return start_worker(std::move(worker));
  }
  Worker* const worker = idle.workers.back();
  idle.workers.pop_back();
  worker->work = std::move(work);
  worker->has_work.notify_one();
}

}  // namespace emulated_cuda
