#pragma once

#include <optional>
#include <string>

namespace troupe::bench {

/// One of several ways to do the same work that a variable of the environment chooses: `NAME=VALUE`, or an empty text
/// for the environment as it is. The library must read the variable when a plan is spawned, not once in a process.
class Variant {
 public:
  /// Throws Error if the text is not of that form.
  explicit Variant(std::string text = {});

  const std::string& text() const { return text_; }

  /// Sets the variable while it lives. No other thread may use the environment when it is made or destroyed: no plan
  /// is running.
  class Scope {
   public:
    explicit Scope(const Variant& variant);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    std::string name_;
    std::optional<std::string> before_;
  };

 private:
  std::string text_;
};

}  // namespace troupe::bench
