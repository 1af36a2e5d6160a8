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
  /// Adds a variable with a copy of the value in host memory. Throws Error if there is a variable of that name, or if
  /// the value is not float32.
  void create(const std::string& name, const Tensor& value);
  /// Returns a copy of the current value. If there is no variable of that name, throws Error that lists the names.
  Tensor read(const std::string& name) const;
  /// Adds all updates to their variables. Throws Error, and adds none, if a variable does not exist, or if an update
  /// has another shape or dtype than its variable.
  void add(const std::vector<VariableUpdate>& updates);
  /// The number of updates of a variable.
  std::int64_t updates_of(const std::string& name) const;

 private:
  struct Variable {
    Tensor value;
    std::int64_t updates = 0;
  };
  // The caller of find() and check() must hold the lock.
  const Variable& find(const std::string& name) const;
  void check(const VariableUpdate& update) const;

  mutable std::mutex mutex_;
  std::map<std::string, Variable> variables_;
};

/// Reads a variable for a call, locally or over a link. Throws Error if there is no such variable, or if no answer
/// arrives.
using ReadVariable = std::function<Tensor(const std::string& name)>;

/// A call that is sent to a worker: the name of the function and the inputs.
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
  /// Input i. Throws Error if the call has no input i.
  const Tensor& input(std::size_t i) const;
  /// Identifies the call: the same in all its executions, and different in every other call.
  std::int64_t token() const { return token_; }
  /// The current value of a variable.
  Tensor read(const std::string& name) const { return read_(name); }
  /// Adds `delta` to a variable when the call has ended: once, even if the call is executed several times. A tensor on
  /// a device is copied to host memory before add() returns; other tensors must not be written to until the call has
  /// ended.
  void add(const std::string& name, const Tensor& delta);

  const std::vector<VariableUpdate>& updates() const { return updates_; }

 private:
  std::int64_t token_;
  std::span<const Tensor> inputs_;
  const ReadVariable& read_;
  std::vector<VariableUpdate> updates_;
};

/// The functions that calls execute, by name. They must be the same in all processes. An exception of a function is the
/// error of its call. A function may be executed again after the loss of a worker, so it must change only variables. A
/// function may still run when the coordinator has ended, so objects to which it refers must live as long as the
/// runtime.
using CallFunctions = std::map<std::string, std::function<std::vector<Tensor>(RemoteCall& call)>>;

/// Executes a call. Does not throw: an exception of the function becomes CallResult::error.
CallResult execute(const CallFunctions& functions, const OrderedCall& call, std::int64_t token,
                   const ReadVariable& read);

}  // namespace troupe
