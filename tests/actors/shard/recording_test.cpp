#include "troupe/actors/shard/recording.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

using Numbers = std::vector<std::int32_t>;

void note(Recording& recording, const std::string& actor, const Numbers& numbers) {
  recording.note(actor, numbers);
}

/// Two runs of a dispatcher, the second without an event, and one of a shard.
Recording recorded() {
  Recording recording(7, "seed 3");
  recording.begin_run("dispatcher");
  note(recording, "dispatcher", {0, 1});
  note(recording, "dispatcher", {1, 0});
  recording.begin_run("dispatcher");
  recording.begin_run("shard");
  note(recording, "shard", {5});
  return recording;
}

void check_same(const Recording& recording) {
  CHECK(recording.of_run("dispatcher", 0) == Numbers{0, 1, 1, 0});
  CHECK(recording.of_run("dispatcher", 1).empty());
  CHECK(recording.of_run("dispatcher", 2).empty());
  CHECK(recording.of_run("shard", 0) == Numbers{5});
  CHECK(recording.of_run("nobody", 0).empty());
}

}  // namespace

TEST_CASE("a recording keeps what each actor did in each run, in bytes and in a file too") {
  const auto recording = recorded();
  check_same(recording);
  check_same(Recording::decode(recording.encode()));
  const auto file = std::filesystem::temp_directory_path() / ("recording_test_" + std::to_string(getpid()));
  recording.save(file);
  check_same(Recording::load(file));
  std::filesystem::remove(file);
}

TEST_CASE("another process adds its last run") {
  auto recording = recorded();
  Recording other(7, "seed 3");
  other.begin_run("shard@1");
  note(other, "shard@1", {1});
  other.begin_run("shard@1");
  note(other, "shard@1", {2, 3});
  recording.add(other.encode_last_run());
  CHECK(recording.of_run("shard@1", 0) == Numbers{2, 3});
  check_same(recording);
}

TEST_CASE("devices, folders and other files are refused as recordings by name, without reading on for ever") {
  const auto folder = std::filesystem::temp_directory_path();
  for (const auto& path : {std::filesystem::path("/dev/zero"), folder, folder / "no recording of this name"})
    CHECK_THROWS_WITH(Recording::load(path), "[replay] '" + path.string() + "' does not exist or is no regular file");
  const auto large = folder / ("troupe-recording-" + std::to_string(getpid()));
  std::ofstream(large) << "";
  std::filesystem::resize_file(large, std::uintmax_t{1} << 40);  // a hole, which takes no room on the disk
  CHECK_THROWS_WITH(Recording::load(large), Contains(large.string()) && Contains("this is no recording"));
  std::filesystem::remove(large);
}

TEST_CASE("recordings of other programs, from other parameters, damaged ones and those with a loss are refused") {
  auto recording = recorded();
  CHECK_NOTHROW(recording.expect(7, "seed 3"));
  CHECK_THROWS_AS(recording.expect(8, "seed 3"), Error);
  CHECK_THROWS_WITH(recording.expect(7, "seed 4"), Contains("seed 3"));
  auto bytes = recording.encode();
  for (std::size_t length = 0; length < bytes.size(); ++length)
    CHECK_THROWS_AS(Recording::decode(std::span(bytes).first(length)), Error);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] ^= std::byte{4};
    CHECK_THROWS_AS(Recording::decode(bytes), Error);
    bytes[i] ^= std::byte{4};
  }
  CHECK_THROWS_AS(Recording::load("/nowhere/recording"), Error);
  CHECK_THROWS_AS(recording.save("/nowhere/recording"), Error);
  recording.note_loss();
  CHECK_THROWS_WITH(recording.save(std::filesystem::temp_directory_path() / "lossy"), Contains("lost"));
}
