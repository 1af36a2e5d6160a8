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
  op_error,        ///< an op, task or collective threw
  actor_died,      ///< an actor ended unexpectedly
  part_died,       ///< a process, a link or another part of the run is lost
  stalled,         ///< the run made no progress for longer than its limit
  invalid_sample,  ///< a sample cannot be used; see InvalidSample
  aborted,         ///< ended without an error, such as a link that the other end closed, or a dropped collective
};

/// Returns the name of the enumerator, such as `op_error`.
std::string to_string(FailureKind kind);

struct Failure;
using FailurePtr = std::shared_ptr<const Failure>;

/// The failure of a step: the process, the actor, the step, the kind and the text. A failure travels along the edges of
/// a plan in place of tensors that could not be computed, and ends the collectives in which other ranks wait.
struct Failure {
  int rank = -1;  ///< rank of the process; -1 if the job has one process, or if the rank is unknown
  int replica = 0;
  std::string actor = {};  ///< name of the actor in the plan, or `process 1` for a lost process
  std::string op = {};     ///< name of the op; empty if the actor stands for no op
  std::int64_t step = 0;   ///< number of the step, counted from 0 over the life of the trainer
  FailureKind kind = FailureKind::op_error;
  std::int64_t row = InvalidSample::kUnknown;     ///< InvalidSample::row(), if the kind is invalid_sample
  std::int64_t sample = InvalidSample::kUnknown;  ///< InvalidSample::sample(), if the kind is invalid_sample
  std::string what = {};                          ///< the error text, `[place] what is wrong`
  FailurePtr cause = {};                          ///< the failure that led to this one; null if there is none
};

/// Returns a text such as `[check_finite] the value is nan (op loss.check_finite, step 7, replica 0)`: `what`, followed
/// by the op, the step and the replica, with `, rank 1` at the end if the process is known. If `op` is empty, the text
/// has `actor` in its place. Returns `what` alone if neither op nor actor is known, or if the kind is stalled or
/// part_died.
std::string to_string(const Failure& failure);

/// Returns the text of an exception of any type. `error` must not be null.
std::string text_of(const std::exception_ptr& error);

/// Returns a copy of `origin` whose `what` is the text of the exception. If that is an InvalidSample, the copy has its
/// kind and its rows, too. `error` must not be null.
Failure with_cause(Failure origin, const std::exception_ptr& error);
/// Returns with_cause() for the exception that is being handled. Call it in a catch clause.
FailurePtr current_failure(Failure origin);
/// Returns the failure that the exception being handled carries if it is Aborted, else current_failure(origin). Call it
/// in a catch clause.
FailurePtr root_failure(const Failure& origin);

/// Returns the failure, of the kind part_died, that process number `process` is lost. `text` is the whole error text;
/// it must name the process.
FailurePtr failure_of_process(int process, std::string text, FailurePtr cause = nullptr);

/// Thrown by collectives of a group that has ended. Carries the failure that ended the group.
class Aborted : public Error {
 public:
  /// `failure` must not be null.
  explicit Aborted(FailurePtr failure);

  const FailurePtr& failure() const { return failure_; }

 private:
  FailurePtr failure_;
};

/// Thrown by collectives that a rank did not begin before it left the group. Earlier collectives of the group can still
/// complete.
class Departed final : public Aborted {
 public:
  using Aborted::Aborted;
};

/// Encodes a failure with the chain of its causes, to be sent over a link. The result has at most about 64 KiB: names
/// are cut to 256 bytes, error texts to 7 KiB, and the chain to 8 failures.
std::vector<std::byte> encode(const Failure& failure);
/// Decodes the result of encode(). Throws Error if the bytes are not exactly one encoded failure.
FailurePtr decode_failure(std::span<const std::byte> bytes);

}  // namespace troupe
