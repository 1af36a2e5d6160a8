#pragma once

#include <memory>

namespace troupe {

/// A member of an object by which others can tell whether the object still exists. A copy of the object has a token of
/// its own.
class LifetimeToken {
 public:
  LifetimeToken() : token_(std::make_shared<char>()) {}
  LifetimeToken(const LifetimeToken&) : LifetimeToken() {}
  LifetimeToken& operator=(const LifetimeToken&) { return *this; }
  ~LifetimeToken() = default;

  /// Expires with the object.
  std::weak_ptr<const void> watch() const { return token_; }

 private:
  std::shared_ptr<const void> token_;
};

}  // namespace troupe
