#include "troupe/actors/load/row_workers.hpp"

#include <algorithm>
#include <caf/actor_system.hpp>
#include <deque>
#include <mutex>
#include <utility>

#include "troupe/actors/caf/mail.hpp"

namespace troupe {

// Each job is sent as one message tick to one of the actors, which takes the oldest job. After the end, tick ends the
// actor.
struct RowWorkers::Shared {
  std::mutex mutex;
  std::deque<std::function<void()>> jobs;
  bool closed = false;
  std::vector<caf::actor> actors;
  std::size_t next_actor = 0;

  /// The oldest job; null if there is none.
  std::function<void()> take() {
    const std::lock_guard lock(mutex);
    if (jobs.empty()) return nullptr;
    auto job = std::move(jobs.front());
    jobs.pop_front();
    return job;
  }
  bool is_closed() {
    const std::lock_guard lock(mutex);
    return closed;
  }
};

RowWorkers::RowWorkers(caf::actor_system& system, int threads) : shared_(std::make_shared<Shared>()) {
  for (int i = 0; i < std::max(1, threads); ++i)
    shared_->actors.push_back(system.spawn([shared = shared_](caf::event_based_actor* self) {
      return caf::behavior{[shared, self](caf::tick_atom) {
        if (const auto job = shared->take()) job();
        if (shared->is_closed()) self->quit();
      }};
    }));
}

RowWorkers::~RowWorkers() {
  std::vector<caf::actor> actors;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->closed = true;
    shared_->jobs.clear();
    actors = std::exchange(shared_->actors, {});
  }
  for (const auto& actor : actors) post(actor, caf::tick_atom_v);
}

int RowWorkers::threads() const {
  const std::lock_guard lock(shared_->mutex);
  return static_cast<int>(shared_->actors.size());
}

void RowWorkers::run(std::function<void()> job) {
  caf::actor actor;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->jobs.push_back(std::move(job));
    actor = shared_->actors[shared_->next_actor++ % shared_->actors.size()];
  }
  post(actor, caf::tick_atom_v);
}

}  // namespace troupe
