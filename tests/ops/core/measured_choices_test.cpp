#include "troupe/ops/core/measured_choices.hpp"

#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/data/idx_writer.hpp"
#include "troupe/tests/ops/support.hpp"

namespace troupe::ops_test {

namespace {

/// The path of a file that does not exist yet. The file is deleted with the object.
struct ChoicesFile {
  TemporaryDirectory folder;
  std::filesystem::path path = folder / "deeper" / "choices";

  std::string text() const {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

const std::vector<std::string> kThree{"a", "b", "c"};

std::optional<double> middle_is_fastest(std::size_t i) {
  return i == 1 ? 2.0 : 5.0;
}
std::optional<double> never(std::size_t i) {
  throw Error("test", "candidate " + std::to_string(i) + " was measured");
}

}  // namespace

TEST_CASE("the fastest candidate is chosen, once for a key", "[choices]") {
  MeasuredChoices choices;
  CHECK(choices.choose("key", kThree, middle_is_fastest) == 1);
  CHECK(choices.choose("key", kThree, never) == 1);
  CHECK(choices.choose("other", kThree, [](std::size_t i) { return std::optional(static_cast<double>(3 - i)); }) == 2);
  CHECK(choices.measured() == 2);
}

TEST_CASE("the first of candidates that take the same time is chosen", "[choices]") {
  MeasuredChoices choices;
  CHECK(choices.choose("all", kThree, [](std::size_t) { return std::optional(1.0); }) == 0);
  CHECK(choices.choose("two", kThree, [](std::size_t i) { return std::optional(i == 0 ? 2.0 : 1.0); }) == 1);
}

TEST_CASE("candidates that cannot be used are passed over; if there is no other, that is an error", "[choices]") {
  MeasuredChoices choices;
  const auto only_last = [](std::size_t i) { return i == 2 ? std::optional(9.0) : std::nullopt; };
  CHECK(choices.choose("key", kThree, only_last) == 2);
  const auto none = [](std::size_t) { return std::optional<double>(); };
  CHECK(contains(error_of([&] { choices.choose("k=1", kThree, none); }), "none of 3 candidates can be used for k=1"));
}

TEST_CASE("the first candidate is chosen, for this process alone, if nothing can be measured", "[choices]") {
  const ChoicesFile file;
  MeasuredChoices choices(file.path);
  const auto no_memory = [](std::size_t) -> std::optional<double> { throw CannotMeasure("no memory"); };
  CHECK(choices.choose("key", kThree, no_memory) == 0);
  CHECK(choices.measured() == 0);
  CHECK(file.text().empty());
  CHECK(choices.choose("key", kThree, never) == 0);
  CHECK(MeasuredChoices(file.path).choose("key", kThree, middle_is_fastest) == 1);
  CHECK(choices.choose("key", kThree, never) == 0);
}

TEST_CASE("another process finds the choices in the file, though candidates come in another order", "[choices]") {
  const ChoicesFile file;
  CHECK(MeasuredChoices(file.path).choose("key", kThree, middle_is_fastest) == 1);
  MeasuredChoices again(file.path);
  CHECK(again.choose("key", std::vector<std::string>{"c", "a", "b"}, never) == 2);
  CHECK(again.measured() == 0);
  CHECK(again.choose("key", std::vector<std::string>{"x", "y"}, middle_is_fastest) == 1);
}

TEST_CASE("processes that write one file keep each other's choices", "[choices]") {
  const ChoicesFile file;
  MeasuredChoices first(file.path), second(file.path);
  first.choose("one", kThree, middle_is_fastest);
  second.choose("two", kThree, middle_is_fastest);
  CHECK(file.text() == "one b\ntwo b\n");
  CHECK(first.choose("two", kThree, never) == 1);
}

TEST_CASE("the rule `first` takes the choice in the file, else the first candidate", "[choices]") {
  const ChoicesFile file;
  MeasuredChoices(file.path).choose("old", kThree, middle_is_fastest);
  MeasuredChoices choices(file.path, ChoiceRule::first);
  CHECK(choices.choose("old", kThree, never) == 1);
  CHECK(choices.choose("new", kThree, never) == 0);
  CHECK(choices.measured() == 0);
}

TEST_CASE("a process waits while another one measures, and takes its choice", "[choices]") {
  const ChoicesFile file;
  MeasuredChoices first(file.path), second(file.path);
  std::atomic<bool> measuring{false}, asking{false};
  const auto set = [](std::atomic<bool>& flag) {
    flag = true;
    flag.notify_all();
  };
  std::thread other([&] {
    first.choose("key", kThree, [&](std::size_t i) {
      set(measuring);
      asking.wait(false);
      return middle_is_fastest(i);
    });
  });
  measuring.wait(false);
  set(asking);
  CHECK(second.choose("key", kThree, never) == 1);
  other.join();
}

TEST_CASE("lines that cannot be read are skipped", "[choices]") {
  const ChoicesFile file;
  std::filesystem::create_directories(file.path.parent_path());
  std::ofstream(file.path) << "\nkey\nkey b c\n\x01\x02 \xff\nright c\n";
  MeasuredChoices choices(file.path);
  CHECK(choices.choose("right", kThree, never) == 2);
  CHECK(choices.choose("key", kThree, middle_is_fastest) == 1);
}

TEST_CASE("choices are kept in memory if the file cannot be written", "[choices]") {
  MeasuredChoices choices("/proc/troupe/choices");
  CHECK(choices.choose("key", kThree, middle_is_fastest) == 1);
  CHECK(choices.choose("key", kThree, never) == 1);
}

TEST_CASE("choices are kept in memory if the file is a folder or a device", "[choices]") {
  const TemporaryDirectory folder;
  const auto pipe = folder / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  for (const auto& path : {folder.path(), pipe, std::filesystem::path("/dev/zero")}) {
    MeasuredChoices choices(path);
    CHECK(choices.choose("key", kThree, middle_is_fastest) == 1);
    CHECK(choices.choose("key", kThree, never) == 1);
  }
  CHECK(std::filesystem::is_directory(folder.path()));
  CHECK(std::filesystem::is_fifo(pipe));
}

TEST_CASE("threads that ask for one key measure it once", "[choices]") {
  MeasuredChoices choices;
  std::atomic<int> measured{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      choices.choose("key", kThree, [&](std::size_t) {
        ++measured;
        return std::optional(1.0);
      });
    });
  for (auto& thread : threads) thread.join();
  CHECK(measured == 3);
}

}  // namespace troupe::ops_test
