#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "troupe/actors/calls/variables.hpp"
#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// How a call reads a variable: where it lies, or over a link. Throws Error if there is none, or it does not come.
using ReadVariable = std::function<Tensor(const std::string& name)>;

/// One execution of a call, as its function sees it.
class RemoteCall {
 public:
  RemoteCall(std::int64_t token, std::span<const Tensor> inputs, const ReadVariable& read)
      : token_(token), inputs_(inputs), read_(read) {}

  std::span<const Tensor> inputs() const { return inputs_; }
  /// Throws Error if there is none of that number.
  const Tensor& input(std::size_t i) const;
  /// The same in every execution of this call, and in no other call.
  std::int64_t token() const { return token_; }
  /// A variable as it is now.
  Tensor read(const std::string& name) const { return read_(name); }
  /// Adds to a variable when the call ends: once, however often it is executed. A tensor of a device is copied now.
  void add(const std::string& name, const Tensor& delta);

  const std::vector<VariableUpdate>& updates() const { return updates_; }

 private:
  std::int64_t token_;
  std::span<const Tensor> inputs_;
  const ReadVariable& read_;
  std::vector<VariableUpdate> updates_;
};

/// What calls execute, by name: the same in all processes. An exception is the call's error. A function may be executed
/// again after the loss of a worker, so it changes nothing but variables. It may still be executed when the coordinator
/// has gone: what it refers to must live as long as the runtime.
using CallFunctions = std::map<std::string, std::function<std::vector<Tensor>(RemoteCall& call)>>;

/// Executes a call. Does not throw.
CallResult execute(const CallFunctions& functions, const std::string& function, std::int64_t token,
                   std::span<const Tensor> inputs, const ReadVariable& read);

}  // namespace troupe
