#pragma once

#include <memory>
#include <string>

namespace troupe {

/// Detects the use of one object on two threads at once, and throws Error. Nested use on one thread, from a callback,
/// is allowed unless the object is closed then.
class SingleUser {
 public:
  explicit SingleUser(std::string name);
  ~SingleUser();
  SingleUser(const SingleUser&) = delete;
  SingleUser& operator=(const SingleUser&) = delete;

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

  /// While it lives, every use of the object throws Error with this reason.
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
  void close(std::string why);
  void enter();
  void leave();

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace troupe
