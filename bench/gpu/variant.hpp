#pragma once

#include <optional>
#include <string>

namespace troupe::bench {

/// One of several ways to do the same work that an environment variable selects: `NAME=VALUE`, or an empty text for the
/// environment without changes. The library must read the variable when a plan is spawned, not once per process.
class Variant {
 public:
  /// Throws Error if the text has another form.
  explicit Variant(std::string text = {});

  const std::string& text() const { return text_; }

  /// Sets the variable while it lives. No other thread may use the environment when it is constructed or destroyed, so
  /// no plan may run at that time.
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
