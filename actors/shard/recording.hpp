#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// The order in which the shards and the dispatcher of a training did what no rule decides, run by run: with it an
/// asynchronous training can be done again to the bit, by as many workers and shards, wherever they live. Actors write
/// to it while they train. Thread-safe.
class Recording {
 public:
  /// `program` and `begin` tell it from recordings of other programs, and of the same one from other parameters.
  Recording(std::uint64_t program, std::string begin) : program_(program), begin_(std::move(begin)) {}
  Recording(Recording&& other) noexcept;

  /// An actor begins a run.
  void begin_run(const std::string& actor);
  /// What it did next, in numbers of its own.
  void note(const std::string& actor, std::span<const std::int32_t> numbers);
  /// A worker was lost: nobody could do the same again.
  void note_loss();

  /// What an actor did in run number `run` of the training; nothing if it did nothing, or there were not so many runs.
  std::vector<std::int32_t> of_run(const std::string& actor, std::size_t run) const;

  /// Throws Error, with the reason, if this is the recording of another program, or from another beginning.
  void expect(std::uint64_t program, const std::string& begin) const;

  /// Everything, for a file; or the last run of each actor, for another process.
  std::vector<std::byte> encode() const;
  std::vector<std::byte> encode_last_run() const;
  /// Throws Error if the bytes are damaged, or no recording.
  static Recording decode(std::span<const std::byte> bytes);
  /// Adds a run of the actors of another process. Throws Error like decode().
  void add(std::span<const std::byte> bytes);

  /// Throws Error if the file cannot be written, or a worker was lost.
  void save(const std::filesystem::path& file) const;
  /// Throws Error if the file cannot be read, or is none.
  static Recording load(const std::filesystem::path& file);

 private:
  using Runs = std::vector<std::vector<std::int32_t>>;

  mutable std::mutex mutex_;
  std::uint64_t program_;
  std::string begin_;
  bool lossy_ = false;
  std::map<std::string, Runs> actors_;
};

}  // namespace troupe
