#pragma once

#include <memory>
#include <string>

namespace troupe {

/// Detects that two threads use one object at once. The object has a SingleUser as a member and calls use() in its
/// functions. A thread that is in a function of the object may call another function, for example from a callback,
/// unless close() forbids it.
class SingleUser {
 public:
  explicit SingleUser(std::string name);
  ~SingleUser();
  SingleUser(const SingleUser&) = delete;
  SingleUser& operator=(const SingleUser&) = delete;

  using Guard = std::unique_ptr<SingleUser, void (*)(SingleUser*)>;
  /// Marks the object as used by the calling thread while the guard lives. Throws Error if another thread uses the
  /// object, or if close() forbids its use.
  [[nodiscard]] Guard use();
  /// Forbids the use of the object: while the guard lives, use() throws Error with the reason `why` on all threads.
  [[nodiscard]] Guard close(std::string why);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace troupe
