#include "troupe/strategies/checkpoint/checkpoint_reader.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <system_error>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/regular_file.hpp"
#include "troupe/ops/data/safetensors.hpp"
#include "troupe/strategies/checkpoint/checkpoint_folder.hpp"
#include "troupe/strategies/checkpoint/manifest.hpp"

namespace troupe {

namespace {

/// Reads the parts of a checkpoint, and compares them with its manifest.
class CheckpointReader {
 public:
  explicit CheckpointReader(std::filesystem::path folder) : folder_(std::move(folder)) {}

  Checkpoint read() {
    const auto manifest = read_manifest();
    if (checkpoint_name(manifest.step) != folder_.filename())
      refuse(kManifestFile, "is that of step " + std::to_string(manifest.step));
    for (const auto& [name, bytes] : manifest.file_bytes) open(name, bytes);
    Checkpoint checkpoint{
        .step = manifest.step, .positions = manifest.positions, .texts = manifest.texts, .data = manifest.data};
    for (const auto& entry : manifest.entries)
      checkpoint.values.push_back({entry.name, entry.updates, value_of(entry)});
    for (const auto& [name, file] : files_)
      if (file.entries().size() != values_read_[name])
        refuse(name, "has " + std::to_string(file.entries().size()) + " values, but the manifest lists " +
                         std::to_string(values_read_[name]));
    return checkpoint;
  }

 private:
  [[noreturn]] void refuse(const std::string& file, const std::string& what) const {
    throw Error(kCheckpointPlace, "'" + (folder_ / file).string() + "' " + what);
  }

  Manifest read_manifest() const {
    const auto path = folder_ / kManifestFile;
    auto file = open_regular_file(kCheckpointPlace, path);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    return parse_manifest(text, path.string());
  }

  void open(const std::string& name, std::int64_t bytes) {
    const auto path = folder_ / name;
    if (path.parent_path() != folder_) refuse(name, "is not a file of this checkpoint");
    std::error_code missing;
    const auto found = std::filesystem::file_size(path, missing);
    if (missing) refuse(name, "is missing");
    if (found != static_cast<std::uintmax_t>(bytes))
      refuse(name, "has " + std::to_string(found) + " bytes, not " + std::to_string(bytes));
    files_.emplace(name, SafetensorsFile(path));
  }

  Tensor value_of(const Manifest::Entry& entry) {
    const auto file = files_.find(entry.file);
    if (file == files_.end()) refuse(entry.file, "is not among the files of the manifest");
    if (entry.axis != 0 || entry.first != 0 || entry.count != checkpoint_rows(entry.shape))
      refuse(kManifestFile, "has a part of '" + entry.name + "' alone, which this program cannot read");
    ++values_read_[entry.file];
    auto value = file->second.read(entry.name);
    if (!(value.shape() == entry.shape) || value.dtype() != entry.dtype)
      refuse(entry.file, "has '" + entry.name + "' as " + to_string(value) + ", but the manifest has " +
                             to_string(TensorInfo{entry.shape, entry.dtype}));
    if (checkpoint_hash(value) != entry.hash)
      refuse(entry.file, "is damaged: the hash of '" + entry.name + "' is wrong");
    return value;
  }

  std::filesystem::path folder_;
  std::map<std::string, SafetensorsFile> files_;
  std::map<std::string, std::size_t> values_read_;  // by file
};

}  // namespace

Checkpoint read_checkpoint(const std::filesystem::path& folder, std::int64_t step) {
  std::string reason;
  try {
    return CheckpointReader(folder / checkpoint_name(step)).read();
  } catch (const Error& error) {
    reason = error.what();
  }
  const auto steps = checkpoint_steps(folder);
  const auto here = std::ranges::lower_bound(steps, step);
  if (here != steps.begin()) reason += "; the checkpoint before is that of step " + std::to_string(*(here - 1));
  // The text already begins with the place of the error.
  throw Error(kCheckpointPlace, reason.substr(reason.find(' ') + 1));
}

std::optional<Checkpoint> read_newest_checkpoint(const std::filesystem::path& folder) {
  const auto steps = checkpoint_steps(folder);
  if (steps.empty()) return std::nullopt;
  return read_checkpoint(folder, steps.back());
}

}  // namespace troupe
