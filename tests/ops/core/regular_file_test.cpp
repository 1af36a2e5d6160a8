#include "troupe/ops/core/regular_file.hpp"

#include <sys/resource.h>

#include <csignal>
#include <iterator>
#include <string>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/data/idx_writer.hpp"
#include "troupe/tests/ops/support.hpp"

namespace troupe::ops_test {

TEST_CASE("a regular file is opened; folders, devices and missing files are refused by name", "[file][errors]") {
  const TemporaryDirectory folder;
  write_plain(folder / "file", {1, 2, 3});
  auto file = open_regular_file("test", folder / "file");
  CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == "\x01\x02\x03");
  for (const auto& path : {folder.path(), folder / "missing", std::filesystem::path("/dev/zero")})
    CHECK(error_of([&] { open_regular_file("test", path); }) ==
          "[test] '" + path.string() + "' does not exist or is no regular file");
}

TEST_CASE("a path that no file can be written to is refused before the work", "[file][errors]") {
  const TemporaryDirectory folder;
  CHECK(error_of([&] { expect_writable_file("test", folder / "new"); }).empty());
  CHECK(error_of([] { expect_writable_file("test", "in_this_folder"); }).empty());
  CHECK(error_of([] { expect_writable_file("test", "/dev/null"); }).empty());
  CHECK(contains(error_of([&] { expect_writable_file("test", folder.path()); }), "is a folder"));
  CHECK(contains(error_of([&] { expect_writable_file("test", folder / "missing/new"); }), "its folder does not exist"));
}

TEST_CASE("a file is replaced in one step, and stays if the new one cannot be written", "[file][errors]") {
  const TemporaryDirectory folder;
  const auto text_of = [&](const char* name) {
    auto file = open_regular_file("test", folder / name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const auto replace = [](const std::filesystem::path& path, const std::string& text) {
    return error_of([&] { replace_file("test", path, std::as_bytes(std::span(text))); });
  };
  CHECK(replace(folder / "file", "old").empty());
  std::filesystem::create_symlink(folder / "file", folder / "link");
  CHECK(replace(folder / "link", "new").empty());
  CHECK(text_of("file") == "new");
  CHECK(std::filesystem::is_symlink(folder / "link"));
  CHECK(replace("/dev/full", "text") == "[test] '/dev/full' cannot be written");
  // No file of this process may be larger.
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  const auto error = replace(folder / "file", "a longer text");
  REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, handler);
  CHECK(contains(error, "cannot be written"));
  CHECK(text_of("file") == "new");
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 2);
}

}  // namespace troupe::ops_test
