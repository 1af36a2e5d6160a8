#include "troupe/strategies/training/single_user.hpp"

#include <mutex>
#include <thread>

#include "troupe/ops/core/error.hpp"

namespace troupe {

struct SingleUser::State {
  std::string name;
  std::string closed = {};  // the reason given to close(); empty while use is allowed
  std::mutex mutex = {};
  std::thread::id thread = {};
  int depth = 0;
};

SingleUser::SingleUser(std::string name) : state_(new State{.name = std::move(name)}) {}
SingleUser::~SingleUser() = default;

SingleUser::Guard SingleUser::use() {
  std::lock_guard lock(state_->mutex);
  if (!state_->closed.empty()) throw Error(state_->name, state_->closed);
  if (state_->depth > 0 && state_->thread != std::this_thread::get_id())
    throw Error(state_->name, "is in use on another thread; wait until its call there has returned");
  state_->thread = std::this_thread::get_id();
  ++state_->depth;
  return {this, [](SingleUser* user) {
            std::lock_guard lock_at_end(user->state_->mutex);
            --user->state_->depth;
          }};
}

SingleUser::Guard SingleUser::close(std::string why) {
  std::lock_guard lock(state_->mutex);
  state_->closed = std::move(why);
  return {this, [](SingleUser* user) {
            std::lock_guard lock_at_end(user->state_->mutex);
            user->state_->closed.clear();
          }};
}

}  // namespace troupe
