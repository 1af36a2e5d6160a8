#include "troupe/ops/core/regular_file.hpp"

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

}  // namespace troupe::ops_test
