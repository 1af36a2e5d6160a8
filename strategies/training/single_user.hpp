#pragma once

#include <mutex>
#include <string>
#include <thread>

#include "troupe/ops/core/error.hpp"

namespace troupe {

/// Turns the use of one object on two threads at once into an Error. Nested use on one thread, from a callback, is
/// allowed unless the object is closed meanwhile.
class SingleUser {
 public:
  explicit SingleUser(std::string name) : name_(std::move(name)) {}

  class Use {
   public:
    /// Throws Error if another thread uses the object.
    explicit Use(SingleUser& user) : user_(user) { user_.enter(); }
    ~Use() { user_.leave(); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    SingleUser& user_;
  };

  /// While it lives, whoever uses the object gets an Error with this reason.
  class Closed {
   public:
    Closed(SingleUser& user, std::string why) : user_(user) { user_.close(std::move(why)); }
    ~Closed() { user_.close({}); }
    Closed(const Closed&) = delete;
    Closed& operator=(const Closed&) = delete;

   private:
    SingleUser& user_;
  };

 private:
  void close(std::string why) {
    std::lock_guard lock(mutex_);
    closed_ = std::move(why);
  }
  void enter() {
    std::lock_guard lock(mutex_);
    if (!closed_.empty()) throw Error(name_, closed_);
    if (depth_ > 0 && thread_ != std::this_thread::get_id())
      throw Error(name_, "is in use on another thread; wait until its call there has returned");
    thread_ = std::this_thread::get_id();
    ++depth_;
  }
  void leave() {
    std::lock_guard lock(mutex_);
    --depth_;
  }

  std::string name_;
  std::string closed_;  // why, or empty
  std::mutex mutex_;
  std::thread::id thread_;
  int depth_ = 0;
};

}  // namespace troupe
