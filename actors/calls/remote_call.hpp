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
  /// Adds a variable whose value is a copy of `value` in host memory. Throws Error if there is a variable of that name,
  /// or if `value` is null or not float32.
  void create(const std::string& name, const Tensor& value);
  /// Returns a copy of the current value. If there is no variable of that name, throws Error that lists the names.
  Tensor read(const std::string& name) const;
  /// Adds the tensor of each update to its variable. The tensors must be in host memory. Throws Error, and adds none,
  /// if a variable does not exist, or if a tensor is null or has another shape or dtype than its variable.
  void add(const std::vector<VariableUpdate>& updates);
  /// The number of updates that add() has added to a variable. Throws Error if there is no variable of that name.
  std::int64_t updates_of(const std::string& name) const;

 private:
  struct Variable {
    Tensor value;
    std::int64_t updates = 0;
  };
  // The caller of find() and check() must hold mutex_.
  const Variable& find(const std::string& name) const;
  void check(const VariableUpdate& update) const;

  mutable std::mutex mutex_;
  std::map<std::string, Variable> variables_;
};

/// A function that returns the current value of a variable of the coordinator, read in this process or over the link to
/// rank 0. Throws Error if there is no such variable, or if no answer arrives.
using ReadVariable = std::function<Tensor(const std::string& name)>;

/// A call that is sent to a worker: the name of the function and the inputs.
struct OrderedCall {
  std::string function;
  std::vector<Tensor> inputs;
};

/// One execution of a call. The function that the call executes gets it as its argument.
class RemoteCall {
 public:
  RemoteCall(std::int64_t token, std::span<const Tensor> inputs, const ReadVariable& read)
      : token_(token), inputs_(inputs), read_(read) {}

  std::span<const Tensor> inputs() const { return inputs_; }
  /// Input i. Throws Error if the call has no input i.
  const Tensor& input(std::size_t i) const;
  /// Identifies the call: the same in all its executions, and different in every other call.
  std::int64_t token() const { return token_; }
  /// The current value of a variable. Throws Error if there is no such variable, or if no answer arrives from rank 0.
  Tensor read(const std::string& name) const { return read_(name); }
  /// Requests that `delta` be added to a variable when the call ends without an error: once, even if the call is
  /// executed several times. A tensor on a device is copied to host memory before add() returns; other tensors must not
  /// be written to until the call has ended.
  void add(const std::string& name, const Tensor& delta);

  const std::vector<VariableUpdate>& updates() const { return updates_; }

 private:
  std::int64_t token_;
  std::span<const Tensor> inputs_;
  const ReadVariable& read_;
  std::vector<VariableUpdate> updates_;
};

/// The functions that calls execute, by name. All processes must have the same functions. An exception of a function is
/// the error of its call. A function may be executed again after the loss of a worker, so it must change only
/// variables. A function may still run when the Coordinator has ended, so objects to which it refers must live as long
/// as the runtime.
using CallFunctions = std::map<std::string, std::function<std::vector<Tensor>(RemoteCall& call)>>;

/// Executes a call. Does not throw: CallResult::error has the exception of the function, or the error if there is no
/// such function or if an output is null.
CallResult execute(const CallFunctions& functions, const OrderedCall& call, std::int64_t token,
                   const ReadVariable& read);

}  // namespace troupe
