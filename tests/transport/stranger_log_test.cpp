#include "troupe/transport/stranger_log.hpp"

#include <vector>

#include "troupe/tests/catch.hpp"

using namespace troupe;

TEST_CASE("of many lines about strangers the first is passed on, and the number of the others") {
  std::vector<std::string> lines;
  {
    StrangerLog log([&](const std::string& line) { lines.push_back(line); }, std::chrono::hours(1));
    for (int i = 0; i < 1'000; ++i) log.add("line " + std::to_string(i));
    CHECK(lines == std::vector<std::string>{"line 0"});
  }
  REQUIRE(lines.size() == 2);
  CHECK_THAT(lines[1], Contains("999 further"));
}

TEST_CASE("a line after the interval has the number of those before it that were left out") {
  std::vector<std::string> lines;
  StrangerLog log([&](const std::string& line) { lines.push_back(line); }, std::chrono::milliseconds(0));
  log.add("a");
  log.add("b");
  CHECK(lines == std::vector<std::string>{"a", "b"});
}

TEST_CASE("without a function lines are dropped") {
  StrangerLog log({});
  log.add("a");
  log.add("b");
}
