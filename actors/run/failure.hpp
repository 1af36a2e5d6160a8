#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>

namespace troupe {

/// The root cause of a step that went wrong. It travels along the edges in place of the tensors that were not computed.
struct Failure {
  std::string op;         ///< name of the plan actor
  std::int64_t step = 0;  ///< counted from 0 over the life of the trainer
  int replica = 0;
  std::string what;  ///< text of the exception
};

using FailurePtr = std::shared_ptr<const Failure>;

/// `[check_finite] the value is nan (op loss.check_finite, step 7, replica 0)`.
inline std::string to_string(const Failure& failure) {
  return failure.what + " (op " + failure.op + ", step " + std::to_string(failure.step) + ", replica " +
         std::to_string(failure.replica) + ")";
}

/// The text of an exception.
inline std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    return exception.what();
  } catch (...) {
    return "an unknown exception";
  }
}

}  // namespace troupe
