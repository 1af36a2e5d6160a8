#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "troupe/ops/core/error.hpp"

namespace troupe {

enum class FailureKind : std::uint8_t {
  op_error,    ///< an op, task or collective threw
  actor_died,  ///< an actor ended without being asked to
  part_died,   ///< a part of the plan, perhaps a process, is gone
  stalled,     ///< no progress for longer than the limit
  aborted,     ///< given up by a caller outside
};

/// `op_error`, `actor_died`, ...
std::string to_string(FailureKind kind);

struct Failure;
using FailurePtr = std::shared_ptr<const Failure>;

/// The root cause of a failed step: the process, the actor, the step, the kind and the text. It travels along the edges
/// in place of the tensors that were not computed, and ends the collectives in which other ranks wait.
struct Failure {
  int rank = -1;  ///< the process, or -1 if there is only one
  int replica = 0;
  std::string actor = {};  ///< name of the plan actor
  std::string op = {};     ///< name of the op; empty if the actor stands for no op
  std::int64_t step = 0;   ///< counted from 0 over the life of the trainer
  FailureKind kind = FailureKind::op_error;
  std::string what = {};  ///< text of the exception
  FailurePtr cause = {};  ///< the failure that led to this one; null if there is none
};

/// `[check_finite] the value is nan (op loss.check_finite, step 7, replica 0)`, with `, rank 1` at the end if there are
/// several processes. The text alone if neither op nor actor is known.
std::string to_string(const Failure& failure);

/// The text of an exception of any type.
std::string text_of(const std::exception_ptr& error);

/// The exception that is being handled, as a failure of the origin.
FailurePtr current_failure(Failure origin);
/// The failure that the exception being handled carries if it is Aborted, else current_failure(origin).
FailurePtr root_failure(const Failure& origin);

/// The loss of a process, as a failure of the kind part_died. `text` is the whole text, which names the process.
FailurePtr failure_of_process(int process, std::string text, FailurePtr cause = nullptr);

/// Thrown out of a collective that another rank, or a caller outside, has given up.
class Aborted final : public Error {
 public:
  /// `failure` must not be null.
  explicit Aborted(FailurePtr failure);

  const FailurePtr& failure() const { return failure_; }

 private:
  FailurePtr failure_;
};

/// A failure with the chain of its causes as bytes, for a link; at most about 64 KiB, longer texts are cut.
std::vector<std::byte> encode(const Failure& failure);
/// Throws Error if the bytes are not a whole failure.
FailurePtr decode_failure(std::span<const std::byte> bytes);

}  // namespace troupe
