#include "troupe/actors/shard/recording.hpp"

#include <fstream>
#include <iterator>
#include <new>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/hash.hpp"
#include "troupe/ops/core/regular_file.hpp"
#include "troupe/transport/bytes.hpp"

namespace troupe {

namespace {

constexpr std::uint32_t kMagic = 0x52505254;  // "TRPR"
constexpr std::uint16_t kVersion = 1;
constexpr std::size_t kNameLimit = 4'096;

std::uint64_t checksum_of(std::span<const std::byte> bytes) {
  Hash hash;
  hash.add_bytes(bytes.data(), bytes.size());
  return hash.digest();
}

void expect_magic(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof kMagic || ByteReader(bytes, "replay").get<std::uint32_t>() != kMagic)
    throw Error("replay", "this is no recording");
}

}  // namespace

Recording::Recording(Recording&& other) noexcept
    : program_(other.program_),
      begin_(std::move(other.begin_)),
      lossy_(other.lossy_),
      actors_(std::move(other.actors_)) {}

void Recording::begin_run(const std::string& actor) {
  std::lock_guard lock(mutex_);
  actors_[actor].emplace_back();
}

void Recording::note(const std::string& actor, std::span<const std::int32_t> numbers) {
  std::lock_guard lock(mutex_);
  auto& run = actors_.at(actor).back();
  run.insert(run.end(), numbers.begin(), numbers.end());
}

void Recording::note_loss() {
  std::lock_guard lock(mutex_);
  lossy_ = true;
}

std::vector<std::int32_t> Recording::of_run(const std::string& actor, std::size_t run) const {
  std::lock_guard lock(mutex_);
  const auto entry = actors_.find(actor);
  return entry == actors_.end() || run >= entry->second.size() ? std::vector<std::int32_t>{} : entry->second[run];
}

void Recording::expect(std::uint64_t program, const std::string& begin) const {
  std::lock_guard lock(mutex_);
  if (program != program_)
    throw Error("replay",
                "the recording is of another program: another model, optimizer, seed, data set, batch size, rule, or "
                "number of workers or servers");
  if (begin != begin_)
    throw Error("replay", "the recording begins with " + begin_ + ", but this training with " + begin);
}

std::vector<std::byte> Recording::encode_last_run() const {
  Recording last(program_, begin_);
  {
    std::lock_guard lock(mutex_);
    last.lossy_ = lossy_;
    for (const auto& [actor, runs] : actors_)
      if (!runs.empty()) last.actors_[actor] = {runs.back()};
  }
  return last.encode();
}

std::vector<std::byte> Recording::encode() const {
  std::lock_guard lock(mutex_);
  ByteWriter writer;
  writer.put(kMagic);
  writer.put(kVersion);
  writer.put(program_);
  writer.put_text(begin_, kNameLimit);
  writer.put(static_cast<std::uint8_t>(lossy_ ? 1 : 0));
  writer.put(static_cast<std::uint32_t>(actors_.size()));
  for (const auto& [actor, runs] : actors_) {
    writer.put_text(actor, kNameLimit);
    writer.put(static_cast<std::uint32_t>(runs.size()));
    for (const auto& run : runs) {
      writer.put(static_cast<std::uint64_t>(run.size()));
      for (const auto number : run) writer.put(number);
    }
  }
  writer.put(checksum_of(writer.view()));
  return std::move(writer).take();
}

Recording Recording::decode(std::span<const std::byte> bytes) {
  ByteReader reader(bytes, "replay");
  expect_magic(bytes);
  reader.get<std::uint32_t>();
  const auto version = reader.get<std::uint16_t>();
  if (version != kVersion)
    throw Error("replay", "version " + std::to_string(version) + " of recordings is not " + std::to_string(kVersion));
  const auto content = bytes.first(bytes.size() - std::min(bytes.size(), sizeof(std::uint64_t)));
  const auto program = reader.get<std::uint64_t>();
  Recording recording(program, reader.get_text(kNameLimit));
  recording.lossy_ = reader.get<std::uint8_t>() != 0;
  const auto actors = reader.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < actors; ++i) {
    auto& runs = recording.actors_[reader.get_text(kNameLimit)];
    // Memory grows with the bytes that are read, not with the announced counts, which may be damaged.
    for (auto left = reader.get<std::uint32_t>(); left > 0; --left) {
      auto& run = runs.emplace_back();
      for (auto numbers = reader.get<std::uint64_t>(); numbers > 0; --numbers)
        run.push_back(reader.get<std::int32_t>());
    }
  }
  if (reader.get<std::uint64_t>() != checksum_of(content)) throw Error("replay", "the recording is damaged");
  if (!reader.at_end()) throw Error("replay", "bytes follow the end of the recording");
  return recording;
}

void Recording::add(std::span<const std::byte> bytes) {
  auto other = decode(bytes);
  std::lock_guard lock(mutex_);
  lossy_ = lossy_ || other.lossy_;
  for (auto& [actor, runs] : other.actors_)
    for (auto& run : runs) actors_[actor].push_back(std::move(run));
}

void Recording::save(const std::filesystem::path& file) const {
  {
    std::lock_guard lock(mutex_);
    if (lossy_) throw Error("record", "a worker was lost, so the recording cannot be replayed; it is not written");
  }
  replace_file("record", file, encode());
}

Recording Recording::load(const std::filesystem::path& file) {
  auto in = open_regular_file("replay", file);
  try {
    // The beginning is checked before the rest is read, which may be much larger than a recording.
    std::vector<char> text(sizeof kMagic);
    in.read(text.data(), sizeof kMagic);
    text.resize(static_cast<std::size_t>(in.gcount()));
    expect_magic(std::as_bytes(std::span(text)));
    text.insert(text.end(), std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    return decode(std::as_bytes(std::span(text)));
  } catch (const std::bad_alloc&) {
    throw Error("replay", "'" + file.string() + "' does not fit into memory");
  } catch (const Error& error) {
    const std::string why = error.what();
    throw Error("replay", "'" + file.string() + "': " + why.substr(why.find("] ") + 2));
  }
}

std::vector<std::int32_t> RunRecords::begin_run(const std::string& actor, std::size_t run) const {
  if (record) record->begin_run(actor);
  return replay ? replay->of_run(actor, run) : std::vector<std::int32_t>{};
}

}  // namespace troupe
