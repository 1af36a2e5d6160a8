#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "troupe/actors/shard/consistency_rule.hpp"

namespace troupe {

/// The decisions of the shards and the dispatcher of a training that no rule fixes, in order, run by run. With them an
/// asynchronous training can be repeated to the bit by the same number of workers and shards, at any places. Actors
/// write to it while they train. Thread-safe.
class Recording {
 public:
  /// `program` and `begin` identify the program and the parameters with which it began.
  Recording(std::uint64_t program, std::string begin) : program_(program), begin_(std::move(begin)) {}
  Recording(Recording&& other) noexcept;

  /// Begins a run of an actor.
  void begin_run(const std::string& actor);
  /// Adds a decision of an actor to its run. The actor defines the meaning of the numbers.
  void note(const std::string& actor, std::span<const std::int32_t> numbers);
  /// Notes that a worker was lost: the training cannot be repeated.
  void note_loss();

  /// The decisions of an actor in run number `run` of the training. Empty if there are none, or there was no such run.
  std::vector<std::int32_t> of_run(const std::string& actor, std::size_t run) const;

  /// Throws Error, with the reason, unless the recording is of this program and this beginning.
  void expect(std::uint64_t program, const std::string& begin) const;

  /// Encodes everything, for a file.
  std::vector<std::byte> encode() const;
  /// Encodes the last run of each actor, for another process.
  std::vector<std::byte> encode_last_run() const;
  /// Throws Error if the bytes are damaged or no recording.
  static Recording decode(std::span<const std::byte> bytes);
  /// Adds an encoded run of the actors of another process. Throws Error like decode().
  void add(std::span<const std::byte> bytes);

  /// Throws Error if the file cannot be written, or a worker was lost.
  void save(const std::filesystem::path& file) const;
  /// Throws Error if the file cannot be read or is no recording.
  static Recording load(const std::filesystem::path& file);

 private:
  using Runs = std::vector<std::vector<std::int32_t>>;

  mutable std::mutex mutex_;
  std::uint64_t program_;
  std::string begin_;
  bool lossy_ = false;
  std::map<std::string, Runs> actors_;
};

/// Counts what the shards and the dispatcher of a plan do in this process. Thread-safe.
class ShardLog {
 public:
  /// Gradients of this staleness were applied, or dropped.
  void note(std::span<const std::int64_t> staleness, bool applied) {
    std::lock_guard lock(mutex_);
    for (const auto versions : staleness) ++(applied ? staleness_.applied[versions] : staleness_.dropped);
  }
  Staleness staleness() const {
    std::lock_guard lock(mutex_);
    return staleness_;
  }

  /// The last run consisted of the steps before `step`.
  void note_end_step(std::int64_t step) {
    std::lock_guard lock(mutex_);
    end_step_ = step;
  }
  std::int64_t end_step() const {
    std::lock_guard lock(mutex_);
    return end_step_;
  }

 private:
  mutable std::mutex mutex_;
  Staleness staleness_;
  std::int64_t end_step_ = 0;
};

/// The log and the recordings that an actor of a plan uses. Each may be null.
struct RunRecords {
  std::shared_ptr<ShardLog> log = {};
  /// The actor writes its decisions here.
  std::shared_ptr<Recording> record = {};
  /// The actor repeats the decisions in this recording.
  std::shared_ptr<const Recording> replay = {};

  /// Begins run number `run` of an actor. Returns the decisions that it repeats, if any.
  std::vector<std::int32_t> begin_run(const std::string& actor, std::size_t run) const;
};

}  // namespace troupe
