#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "troupe/actors/messages/call_result.hpp"
#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// Named float32 tensors that calls read and add to. Thread-safe.
class Variables {
 public:
  /// Throws Error if there is a variable of that name, or the value is not float32.
  void create(const std::string& name, const Tensor& value);
  /// The current value. Throws Error that lists the names if there is no such variable.
  Tensor read(const std::string& name) const;
  /// Applies all updates at once, or none: throws Error if there is no such variable, or an update has another shape or
  /// dtype.
  void add(const std::vector<VariableUpdate>& updates);
  /// The number of updates of a variable.
  std::int64_t updates_of(const std::string& name) const;

 private:
  struct Variable {
    Tensor value;
    std::int64_t updates = 0;
  };
  // The caller of these holds the lock.
  const Variable& find(const std::string& name) const;
  void check(const VariableUpdate& update) const;

  mutable std::mutex mutex_;
  std::map<std::string, Variable> variables_;
};

/// Reads a variable for a call, locally or over a link. Throws Error if there is no such variable, or no answer.
using ReadVariable = std::function<Tensor(const std::string& name)>;

/// A call as it is given to a worker.
struct OrderedCall {
  std::string function;
  std::vector<Tensor> inputs;
};

/// One execution of a call, the argument of its function.
class RemoteCall {
 public:
  RemoteCall(std::int64_t token, std::span<const Tensor> inputs, const ReadVariable& read)
      : token_(token), inputs_(inputs), read_(read) {}

  std::span<const Tensor> inputs() const { return inputs_; }
  /// Input i. Throws Error if there is none of that number.
  const Tensor& input(std::size_t i) const;
  /// Identifies the call: the same in all its executions, and different in every other call.
  std::int64_t token() const { return token_; }
  /// The current value of a variable.
  Tensor read(const std::string& name) const { return read_(name); }
  /// Adds to a variable when the call ends: once, even if the call is executed several times. A tensor on a device is
  /// copied at once.
  void add(const std::string& name, const Tensor& delta);

  const std::vector<VariableUpdate>& updates() const { return updates_; }

 private:
  std::int64_t token_;
  std::span<const Tensor> inputs_;
  const ReadVariable& read_;
  std::vector<VariableUpdate> updates_;
};

/// The functions that calls execute, by name, equal in all processes. An exception is the call's error. A function may
/// be executed again after the loss of a worker, so it must change only variables. It may still run when the
/// coordinator has ended, so its references must live as long as the runtime.
using CallFunctions = std::map<std::string, std::function<std::vector<Tensor>(RemoteCall& call)>>;

/// Executes a call. Does not throw.
CallResult execute(const CallFunctions& functions, const OrderedCall& call, std::int64_t token,
                   const ReadVariable& read);

}  // namespace troupe
