#include "troupe/strategies/checkpoint/checkpoint_writer.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "troupe/ops/core/durable_files.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/data/safetensors.hpp"
#include "troupe/strategies/checkpoint/checkpoint_folder.hpp"
#include "troupe/strategies/checkpoint/manifest.hpp"

namespace troupe {

namespace {

constexpr const char* kValues = "values-0.safetensors";
// The beginnings of the names of folders that are not complete checkpoints.
constexpr std::string_view kUnfinished = ".unfinished-";  // a new one, which is written
constexpr std::string_view kReplaced = ".replaced-";      // an old one, which a new one of the same step replaces
constexpr std::string_view kRemoved = ".removed-";        // an old one, which is removed

Manifest manifest_of(const Checkpoint& checkpoint) {
  Manifest manifest{
      .step = checkpoint.step, .positions = checkpoint.positions, .texts = checkpoint.texts, .data = checkpoint.data};
  for (const auto& [name, updates, value] : checkpoint.values)
    manifest.entries.push_back({.name = name,
                                .updates = updates,
                                .dtype = value.dtype(),
                                .shape = value.shape(),
                                .count = checkpoint_rows(value.shape()),
                                .file = kValues,
                                .hash = checkpoint_hash(value)});
  return manifest;
}

/// Removes a folder and what is in it.
void remove_folder(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) throw Error(kCheckpointPlace, "'" + path.string() + "' cannot be removed: " + error.message());
}

void rename_folder(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::error_code error;
  std::filesystem::rename(from, to, error);
  if (error) throw Error(kCheckpointPlace, "'" + to.string() + "' cannot be made: " + error.message());
}

/// Makes the folders of a path that do not exist, so that the disk has them.
void make_folders(const std::filesystem::path& path, std::error_code& error) {
  if (std::filesystem::is_directory(path, error)) return;
  if (path.has_relative_path()) make_folders(path.parent_path(), error);
  std::filesystem::create_directory(path, error);
  if (!error) sync_folder(kCheckpointPlace, path.parent_path());
}

/// Writes the files of a checkpoint to a new folder.
void write_files(const std::filesystem::path& folder, const Checkpoint& checkpoint) {
  std::error_code error;
  std::filesystem::create_directory(folder, error);
  if (error) throw Error(kCheckpointPlace, "'" + folder.string() + "' cannot be made: " + error.message());
  NamedArrays arrays;
  for (const auto& value : checkpoint.values) arrays.emplace_back(value.name, value.value);
  const SafetensorsImage image(folder / kValues, std::move(arrays));
  auto manifest = manifest_of(checkpoint);
  for (const auto& part : image.parts()) manifest.file_bytes[kValues] += static_cast<std::int64_t>(part.size());
  write_durably(kCheckpointPlace, folder / kValues, image.parts());
  const auto text = text_of(manifest);
  const std::span<const std::byte> parts[] = {std::as_bytes(std::span(text))};
  write_durably(kCheckpointPlace, folder / kManifestFile, parts);
  sync_folder(kCheckpointPlace, folder);
}

}  // namespace

/// A lock on a folder among processes, which ends with the process at the latest.
class CheckpointWriter::Lock {
 public:
  explicit Lock(const std::filesystem::path& folder) {
    const auto path = folder / ".lock";
    descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0)
      throw Error(kCheckpointPlace,
                  "'" + path.string() + "' cannot be made: " + std::generic_category().message(errno));
    if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
    const auto reason = errno;
    (void)close(descriptor_);
    throw Error(kCheckpointPlace,
                "'" + folder.string() + "' " +
                    (reason == EWOULDBLOCK ? "is in use: another training writes its checkpoints there"
                                           : "cannot be locked: " + std::generic_category().message(reason)));
  }
  ~Lock() { (void)close(descriptor_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int descriptor_ = -1;
};

CheckpointWriter::CheckpointWriter(const std::filesystem::path& folder) {
  std::error_code error;
  folder_ = std::filesystem::absolute(folder, error);
  if (!error) make_folders(folder_, error);
  if (error) throw Error(kCheckpointPlace, "'" + folder.string() + "' cannot be made: " + error.message());
  lock_ = std::make_unique<Lock>(folder_);
  finish_interrupted();
}

CheckpointWriter::~CheckpointWriter() = default;

/// Removes unfinished checkpoints. Puts a checkpoint back that another one was to replace.
void CheckpointWriter::finish_interrupted() {
  for (const auto& path : paths_in(folder_)) {
    const auto name = path.filename().string();
    if (name.starts_with(kUnfinished) || name.starts_with(kRemoved)) remove_folder(path);
    if (!name.starts_with(kReplaced)) continue;
    const auto target = folder_ / name.substr(kReplaced.size());
    std::error_code unknown;
    if (std::filesystem::exists(target, unknown))
      remove_folder(path);
    else
      rename_folder(path, target);
  }
}

void CheckpointWriter::write(const Checkpoint& checkpoint) {
  const auto steps = checkpoint_steps(folder_);
  if (!steps.empty() && steps.back() > checkpoint.step)
    throw Error(kCheckpointPlace, "'" + folder_.string() + "' has a checkpoint of step " +
                                      std::to_string(steps.back()) + ", after step " + std::to_string(checkpoint.step) +
                                      ": use another folder, or call discard_after()");
  const auto name = checkpoint_name(checkpoint.step);
  const auto target = folder_ / name, unfinished = folder_ / (std::string(kUnfinished) + name);
  remove_folder(unfinished);
  try {
    write_files(unfinished, checkpoint);
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove_all(unfinished, ignored);
    throw;
  }
  const bool replaces = !steps.empty() && steps.back() == checkpoint.step;
  const auto replaced = folder_ / (std::string(kReplaced) + name);
  if (replaces) rename_folder(target, replaced);
  rename_folder(unfinished, target);
  sync_folder(kCheckpointPlace, folder_);
  if (replaces) remove_folder(replaced);
}

void CheckpointWriter::discard_after(std::int64_t step) {
  auto steps = checkpoint_steps(folder_);
  for (; !steps.empty() && steps.back() > step; steps.pop_back()) remove(steps.back());
}

void CheckpointWriter::keep_newest(std::int64_t count) {
  if (count < 1) throw Error(kCheckpointPlace, "at least one checkpoint must be kept");
  const auto steps = checkpoint_steps(folder_);
  for (std::size_t i = 0; i + static_cast<std::size_t>(count) < steps.size(); ++i) remove(steps[i]);
}

/// Removes a checkpoint, in an order in which a crash leaves all of it or nothing of that name.
void CheckpointWriter::remove(std::int64_t step) {
  const auto name = checkpoint_name(step);
  const auto removed = folder_ / (std::string(kRemoved) + name);
  remove_folder(removed);
  rename_folder(folder_ / name, removed);
  sync_folder(kCheckpointPlace, folder_);
  remove_folder(removed);
}

}  // namespace troupe
