#include "troupe/strategies/checkpoint/checkpoint_writer.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>

#include "troupe/ops/core/error.hpp"
#include "troupe/strategies/checkpoint/checkpoint_folder.hpp"
#include "troupe/strategies/checkpoint/checkpoint_reader.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

/// A folder that is deleted with the object.
class CheckpointsOfTest {
 public:
  CheckpointsOfTest() : path_(std::filesystem::temp_directory_path() / ("checkpoints-" + std::to_string(getpid()))) {
    std::filesystem::remove_all(path_);
  }
  ~CheckpointsOfTest() { std::filesystem::remove_all(path_); }
  CheckpointsOfTest(const CheckpointsOfTest&) = delete;
  CheckpointsOfTest& operator=(const CheckpointsOfTest&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path file(std::int64_t step, const std::string& name) const {
    return path_ / checkpoint_name(step) / name;
  }

 private:
  std::filesystem::path path_;
};

Checkpoint checkpoint_at(std::int64_t step) {
  const auto number = static_cast<float>(step);
  return {.step = step,
          .positions = {{"trainer", {.step = step, .epoch = 1, .batch = 2, .rows = 3, .batch_rows = 4, .data = 5}}},
          .values = {{"counts", step, Tensor::scalar<std::int64_t>(step)},
                     {"none", 0, Tensor({0, 4}, DType::float32)},
                     {"weights", step, Tensor::from<float>({2, 2}, {number, -0.0F, 1e-42F, 4.0F})}},
          .texts = {{"vocabulary", "a b c"}},
          .data = {{"rows", {1, 2, {-7, 8}}}}};
}

void check_equal(const Checkpoint& got, const Checkpoint& wanted) {
  CHECK(got.step == wanted.step);
  CHECK(got.positions == wanted.positions);
  CHECK(got.texts == wanted.texts);
  CHECK(got.data == wanted.data);
  REQUIRE(got.values.size() == wanted.values.size());
  for (std::size_t i = 0; i < got.values.size(); ++i) {
    const auto &a = got.values[i], &b = wanted.values[i];
    CHECK(a.name == b.name);
    CHECK(a.updates == b.updates);
    CHECK(a.value.shape() == b.value.shape());
    CHECK(a.value.dtype() == b.value.dtype());
    if (b.value.bytes() > 0) CHECK(std::memcmp(a.value.raw(), b.value.raw(), b.value.bytes()) == 0);
  }
}

std::string contents_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_contents(const std::filesystem::path& path, const std::string& contents) {
  std::ofstream(path, std::ios::binary) << contents;
}

std::size_t files_in(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()));
}

}  // namespace

TEST_CASE("checkpoints are read as they were written") {
  const CheckpointsOfTest checkpoints;
  CHECK(checkpoint_steps(checkpoints.path()).empty());
  CHECK_FALSE(read_newest_checkpoint(checkpoints.path()));
  {
    CheckpointWriter writer(checkpoints.path());
    for (const std::int64_t step : {std::int64_t{3}, std::int64_t{20}, std::int64_t{1'000'000'000'000}})
      writer.write(checkpoint_at(step));
  }
  CHECK(checkpoint_steps(checkpoints.path()) == std::vector<std::int64_t>{3, 20, 1'000'000'000'000});
  for (const std::int64_t step : {3, 20}) check_equal(read_checkpoint(checkpoints.path(), step), checkpoint_at(step));
  check_equal(read_newest_checkpoint(checkpoints.path()).value(), checkpoint_at(1'000'000'000'000));
  CHECK_THROWS_WITH(read_checkpoint(checkpoints.path(), 4), Contains("step-000000004/manifest.json' does not exist"));
}

TEST_CASE("a checkpoint takes the place of one of the same step") {
  const CheckpointsOfTest checkpoints;
  CheckpointWriter writer(checkpoints.path());
  writer.write(checkpoint_at(7));
  auto other = checkpoint_at(7);
  other.texts = {{"other", "text"}};
  other.values.pop_back();
  writer.write(other);
  check_equal(read_checkpoint(checkpoints.path(), 7), other);
  CHECK(files_in(checkpoints.path()) == 2);  // the checkpoint and the lock
}

TEST_CASE("the newest checkpoints are kept") {
  const CheckpointsOfTest checkpoints;
  CheckpointWriter writer(checkpoints.path());
  for (const std::int64_t step : {1, 2, 3, 4, 5}) writer.write(checkpoint_at(step));
  writer.keep_newest(3);
  CHECK(checkpoint_steps(checkpoints.path()) == std::vector<std::int64_t>{3, 4, 5});
  writer.keep_newest(9);
  CHECK_THROWS_WITH(writer.keep_newest(0), Contains("at least one"));
  writer.keep_newest(1);
  CHECK(checkpoint_steps(checkpoints.path()) == std::vector<std::int64_t>{5});
  CHECK(files_in(checkpoints.path()) == 2);
}

TEST_CASE("a training that goes on from an earlier checkpoint discards the later ones first") {
  const CheckpointsOfTest checkpoints;
  CheckpointWriter writer(checkpoints.path());
  for (const std::int64_t step : {500, 900, 1'000}) writer.write(checkpoint_at(step));
  CHECK_THROWS_WITH(writer.write(checkpoint_at(600)), Contains("has a checkpoint of step 1000, after step 600"));
  writer.discard_after(500);
  writer.write(checkpoint_at(600));
  CHECK(checkpoint_steps(checkpoints.path()) == std::vector<std::int64_t>{500, 600});
  CHECK(files_in(checkpoints.path()) == 3);
}

TEST_CASE("a checkpoint that was being replaced is put back") {
  const CheckpointsOfTest checkpoints;
  CheckpointWriter(checkpoints.path()).write(checkpoint_at(5));
  const auto step = checkpoints.path() / checkpoint_name(5), replaced = checkpoints.path() / ".replaced-step-000000005";
  std::filesystem::rename(step, replaced);
  CheckpointWriter{checkpoints.path()};
  check_equal(read_newest_checkpoint(checkpoints.path()).value(), checkpoint_at(5));
  std::filesystem::copy(step, replaced);
  CheckpointWriter{checkpoints.path()};
  CHECK_FALSE(std::filesystem::exists(replaced));
  check_equal(read_newest_checkpoint(checkpoints.path()).value(), checkpoint_at(5));
}

TEST_CASE("a folder of checkpoints that cannot be read is no empty one") {
  const CheckpointsOfTest checkpoints;
  write_contents(checkpoints.path(), "a file");
  CHECK_THROWS_WITH(read_newest_checkpoint(checkpoints.path()), Contains("cannot be read"));
  CHECK_THROWS_WITH(checkpoint_steps(checkpoints.path()), Contains("cannot be read"));
}

TEST_CASE("a folder has one writer, and what an interrupted one has left is removed") {
  const CheckpointsOfTest checkpoints;
  {
    CheckpointWriter writer(checkpoints.path());
    CHECK_THROWS_WITH(CheckpointWriter(checkpoints.path()), Contains("is in use: another training writes"));
    std::filesystem::create_directory(checkpoints.path() / ".unfinished-step-000000009");
    write_contents(checkpoints.path() / ".unfinished-step-000000009/values-0.safetensors", "half");
    write_contents(checkpoints.path() / "notes of the user", "stay");
  }
  CHECK(checkpoint_steps(checkpoints.path()).empty());
  CheckpointWriter writer(checkpoints.path());
  CHECK(files_in(checkpoints.path()) == 2);  // the lock and the notes
}

TEST_CASE("a damaged checkpoint is refused by its first difference, and the one before is offered") {
  const CheckpointsOfTest checkpoints;
  CheckpointWriter writer(checkpoints.path());
  writer.write(checkpoint_at(5));
  writer.write(checkpoint_at(6));
  const auto offered = Contains("; the checkpoint before is that of step 5");
  const auto check_refused = [&](const std::string& reason) {
    CHECK_THROWS_WITH(read_newest_checkpoint(checkpoints.path()), Contains(reason) && offered);
  };
  for (const std::string name : {"manifest.json", "values-0.safetensors"}) {
    const auto path = checkpoints.file(6, name);
    const auto whole = contents_of(path);
    INFO(name);
    for (std::size_t part = 0; part < 16; ++part) {
      write_contents(path, whole.substr(0, whole.size() * part / 16));
      check_refused(name);
    }
    auto damaged = whole;
    damaged[damaged.size() - 20] = static_cast<char>(damaged[damaged.size() - 20] ^ 1);
    write_contents(path, damaged);
    check_refused("damaged");
    std::filesystem::remove(path);
    check_refused(name == "manifest.json" ? "does not exist" : "is missing");
    write_contents(path, whole);
    check_equal(read_newest_checkpoint(checkpoints.path()).value(), checkpoint_at(6));
  }
  std::filesystem::copy_file(checkpoints.file(5, "manifest.json"), checkpoints.file(6, "manifest.json"),
                             std::filesystem::copy_options::overwrite_existing);
  check_refused("is that of step 5");
}

TEST_CASE("a checkpoint that cannot be written leaves the others, and can be written later") {
  const CheckpointsOfTest checkpoints;
  CheckpointWriter writer(checkpoints.path());
  writer.write(checkpoint_at(1));
  auto large = checkpoint_at(2);
  large.values.push_back({"x", 1, Tensor({1 << 18}, DType::float32)});
  // A file that grows above the limit is refused like one on a full disk, with another cause.
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1 << 16, limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  std::string error;
  try {
    writer.write(large);
  } catch (const Error& thrown) {
    error = thrown.what();
  }
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, handler);
  CHECK_THAT(error, Contains("values-0.safetensors' cannot be written: File too large"));
  CHECK(files_in(checkpoints.path()) == 2);
  check_equal(read_newest_checkpoint(checkpoints.path()).value(), checkpoint_at(1));
  writer.write(large);
  CHECK(checkpoint_steps(checkpoints.path()) == std::vector<std::int64_t>{1, 2});

  std::filesystem::remove_all(checkpoints.path());
  CHECK_THROWS_WITH(writer.write(checkpoint_at(3)), Contains("cannot be made: No such file"));
  CHECK_FALSE(std::filesystem::exists(checkpoints.path()));
  write_contents(checkpoints.path(), "a file");
  CHECK_THROWS_WITH(CheckpointWriter(checkpoints.path()), Contains("cannot be made"));
}
