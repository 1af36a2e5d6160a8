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

  using Guard = std::unique_ptr<SingleUser, void (*)(SingleUser*)>;
  /// This thread uses the object while the guard lives. Throws Error if another thread uses it, or if it is closed.
  [[nodiscard]] Guard use();
  /// While the guard lives, every use of the object throws Error with this reason.
  [[nodiscard]] Guard close(std::string why);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace troupe
