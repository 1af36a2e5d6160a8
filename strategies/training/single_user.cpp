#include "troupe/strategies/training/single_user.hpp"

#include <mutex>
#include <thread>

#include "troupe/ops/core/error.hpp"

namespace troupe {

struct SingleUser::State {
  std::string name;
  std::string closed = {};  // why, or empty
  std::mutex mutex = {};
  std::thread::id thread = {};
  int depth = 0;
};

SingleUser::SingleUser(std::string name) : state_(new State{.name = std::move(name)}) {}
SingleUser::~SingleUser() = default;

void SingleUser::close(std::string why) {
  std::lock_guard lock(state_->mutex);
  state_->closed = std::move(why);
}

void SingleUser::enter() {
  std::lock_guard lock(state_->mutex);
  if (!state_->closed.empty()) throw Error(state_->name, state_->closed);
  if (state_->depth > 0 && state_->thread != std::this_thread::get_id())
    throw Error(state_->name, "is in use on another thread; wait until its call there has returned");
  state_->thread = std::this_thread::get_id();
  ++state_->depth;
}

void SingleUser::leave() {
  std::lock_guard lock(state_->mutex);
  --state_->depth;
}

}  // namespace troupe
