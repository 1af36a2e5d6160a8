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

/// The decisions of the shards and the dispatcher of a training that depend on the order in which messages arrive, run
/// by run. An asynchronous training that repeats them, with the same numbers of workers and shards on any processes and
/// devices, gets bit-identical parameters. Actors add their decisions while they train. Thread-safe.
class Recording {
 public:
  /// `program` is a hash of the training program, `begin` a text that identifies the parameters with which the training
  /// began; see expect().
  Recording(std::uint64_t program, std::string begin) : program_(program), begin_(std::move(begin)) {}
  Recording(Recording&& other) noexcept;

  /// Begins the next run of an actor.
  void begin_run(const std::string& actor);
  /// Adds a decision of an actor to the run that begin_run() has begun. The actor defines the meaning of the numbers.
  void note(const std::string& actor, std::span<const std::int32_t> numbers);
  /// Notes that a worker was lost. Such a training cannot be repeated, so save() throws Error.
  void note_loss();

  /// The decisions of an actor in its run number `run`, counted from 0. Empty if the actor has made none, or had no
  /// such run.
  std::vector<std::int32_t> of_run(const std::string& actor, std::size_t run) const;

  /// Throws Error, with the reason, unless the recording has this `program` and this `begin`.
  void expect(std::uint64_t program, const std::string& begin) const;

  /// Encodes all runs, for a file.
  std::vector<std::byte> encode() const;
  /// Encodes the last run of each actor, for another process.
  std::vector<std::byte> encode_last_run() const;
  /// Throws Error if the bytes are damaged, are no recording, or have another version of the format.
  static Recording decode(std::span<const std::byte> bytes);
  /// Appends the runs in an encoding from another process, such as that of encode_last_run(). Throws Error if the bytes
  /// are damaged, are no recording, or have another version of the format.
  void add(std::span<const std::byte> bytes);

  /// Throws Error if the file cannot be written, or a worker was lost.
  void save(const std::filesystem::path& file) const;
  /// Throws Error if the file cannot be read, is damaged, is no recording, or has another version of the format.
  static Recording load(const std::filesystem::path& file);

 private:
  using Runs = std::vector<std::vector<std::int32_t>>;

  mutable std::mutex mutex_;
  std::uint64_t program_;
  std::string begin_;
  bool lossy_ = false;
  std::map<std::string, Runs> actors_;
};

/// Counts the gradients that the shards of a plan in this process apply and drop. Keeps the steps that the dispatcher
/// gave to workers, and the step at which it ended its last run. Thread-safe.
class ShardLog {
 public:
  /// Counts one gradient for each number in `staleness`, as applied or as dropped.
  void note(std::span<const std::int64_t> staleness, bool applied) {
    std::lock_guard lock(mutex_);
    for (const auto versions : staleness) ++(applied ? staleness_.applied[versions] : staleness_.dropped);
  }
  Staleness staleness() const {
    std::lock_guard lock(mutex_);
    return staleness_;
  }

  void forget_staleness() {
    std::lock_guard lock(mutex_);
    staleness_ = {};
  }

  /// Sets the step after the last one of the dispatcher's run.
  void note_end_step(std::int64_t step) {
    std::lock_guard lock(mutex_);
    end_step_ = step;
  }
  std::int64_t end_step() const {
    std::lock_guard lock(mutex_);
    return end_step_;
  }

  /// Notes that `worker` gets the batch of step `step`, in place of any worker that got it before.
  void note_worker(std::int64_t step, int worker) {
    std::lock_guard lock(mutex_);
    workers_[step] = worker;
  }
  /// Returns the worker that has got the batch of step `step`, or -1 if that is unknown.
  int worker_of(std::int64_t step) const {
    std::lock_guard lock(mutex_);
    const auto found = workers_.find(step);
    return found == workers_.end() ? -1 : found->second;
  }
  /// Forgets the workers of the steps before `step`.
  void forget_workers(std::int64_t step) {
    std::lock_guard lock(mutex_);
    workers_.erase(workers_.begin(), workers_.lower_bound(step));
  }

 private:
  mutable std::mutex mutex_;
  Staleness staleness_;
  std::int64_t end_step_ = 0;
  std::map<std::int64_t, int> workers_;  // by step
};

/// The log and the recordings that a shard or a dispatcher uses. Each may be null.
struct RunRecords {
  std::shared_ptr<ShardLog> log = {};
  /// The actor writes its decisions here.
  std::shared_ptr<Recording> record = {};
  /// The actor repeats the decisions in this recording.
  std::shared_ptr<const Recording> replay = {};

  /// Begins a run of an actor in `record`, if that is set. Returns the decisions of the actor's run number `run` in
  /// `replay`, which the actor repeats; nothing if `replay` is null.
  std::vector<std::int32_t> begin_run(const std::string& actor, std::size_t run) const;
};

}  // namespace troupe
