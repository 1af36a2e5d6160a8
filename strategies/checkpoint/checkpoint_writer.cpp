#include "troupe/strategies/checkpoint/checkpoint_writer.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "troupe/ops/core/durable_files.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/data/safetensors.hpp"
#include "troupe/strategies/checkpoint/checkpoint_folder.hpp"
#include "troupe/strategies/checkpoint/manifest.hpp"

namespace troupe {

namespace {

constexpr const char* kValues = "values-0.safetensors";

Manifest manifest_of(const Checkpoint& checkpoint) {
  Manifest manifest{.step = checkpoint.step, .positions = checkpoint.positions, .texts = checkpoint.texts};
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

/// Removes a folder and what is in it. What cannot be removed is left.
void remove_folder(const std::filesystem::path& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
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

CheckpointWriter::CheckpointWriter(std::filesystem::path folder) : folder_(std::move(folder)) {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) throw Error(kCheckpointPlace, "'" + folder_.string() + "' cannot be made: " + error.message());
  lock_ = std::make_unique<Lock>(folder_);
  for (const auto& entry : std::filesystem::directory_iterator(folder_, error))
    if (entry.path().filename().string().starts_with(kUnfinishedCheckpoint)) remove_folder(entry.path());
}

CheckpointWriter::~CheckpointWriter() = default;

void CheckpointWriter::write(const Checkpoint& checkpoint) {
  const auto target = folder_ / checkpoint_name(checkpoint.step);
  const auto unfinished = folder_ / (std::string(kUnfinishedCheckpoint) + checkpoint_name(checkpoint.step));
  remove_folder(unfinished);
  try {
    std::error_code error;
    if (!std::filesystem::create_directory(unfinished, error))
      throw Error(kCheckpointPlace, "'" + unfinished.string() + "' cannot be made: " + error.message());
    NamedArrays arrays;
    for (const auto& value : checkpoint.values) arrays.emplace_back(value.name, value.value);
    const SafetensorsImage image(unfinished / kValues, std::move(arrays));
    write_durably(kCheckpointPlace, unfinished / kValues, image.parts());
    auto manifest = manifest_of(checkpoint);
    manifest.file_bytes[kValues] = static_cast<std::int64_t>(std::filesystem::file_size(unfinished / kValues));
    const auto text = text_of(manifest);
    const std::span<const std::byte> parts[] = {std::as_bytes(std::span(text))};
    write_durably(kCheckpointPlace, unfinished / kManifestFile, parts);
    sync_folder(kCheckpointPlace, unfinished);
    // An old checkpoint of the same step gets the other name, in the same instant.
    const auto flags = std::filesystem::exists(target) ? RENAME_EXCHANGE : RENAME_NOREPLACE;
    if (renameat2(AT_FDCWD, unfinished.c_str(), AT_FDCWD, target.c_str(), flags) != 0)
      throw Error(kCheckpointPlace,
                  "'" + target.string() + "' cannot be made: " + std::generic_category().message(errno));
    sync_folder(kCheckpointPlace, folder_);
  } catch (...) {
    remove_folder(unfinished);
    throw;
  }
  remove_folder(unfinished);
}

void CheckpointWriter::keep_newest(std::int64_t count) {
  auto steps = checkpoint_steps(folder_);
  while (static_cast<std::int64_t>(steps.size()) > std::max<std::int64_t>(1, count)) {
    const auto name = checkpoint_name(steps.front());
    const auto unfinished = folder_ / (std::string(kUnfinishedCheckpoint) + name);
    std::error_code error;
    std::filesystem::rename(folder_ / name, unfinished, error);
    remove_folder(unfinished);
    steps.erase(steps.begin());
  }
}

}  // namespace troupe
