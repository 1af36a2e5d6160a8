#pragma once

#include <caf/config.hpp>
#include <caf/fwd.hpp>
#include <caf/thread_hook.hpp>
#include <functional>
#include <utility>

#ifdef CAF_VERSION_MAJOR
#include <caf/thread_owner.hpp>
#endif

namespace troupe {

/// Calls a function on every thread of an actor system when the thread begins.
class ThreadStart final : public caf::thread_hook {
 public:
  explicit ThreadStart(std::function<void()> function) : function_(std::move(function)) {}

  void init(caf::actor_system&) override {}
#ifdef CAF_VERSION_MAJOR
  void thread_started(caf::thread_owner) override {
    function_();
  }
#else
  void thread_started() override {
    function_();
  }
#endif
  void thread_terminates() override {}

 private:
  std::function<void()> function_;
};

}  // namespace troupe
