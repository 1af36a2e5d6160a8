#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace troupe {

/// A function that is called when its owner may have more to do. Copies share one function, so copying allocates
/// nothing.
class ProgressListener {
 public:
  ProgressListener() = default;
  template <class Function>
  requires(std::is_invocable_v<const Function&> && !std::is_same_v<Function, ProgressListener>)
      ProgressListener(Function function)
      : function_(std::make_shared<const std::function<void()>>(std::move(function))) {
  }  // NOLINT: any such function is a listener

  explicit operator bool() const { return function_ != nullptr && *function_; }
  void operator()() const { (*function_)(); }

 private:
  std::shared_ptr<const std::function<void()>> function_;
};

}  // namespace troupe
