#include "troupe/ops/data/gzip_file.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "troupe/ops/core/allocator.hpp"
#include "troupe/ops/data/csv_file.hpp"
#include "troupe/ops/data/idx_file.hpp"
#include "troupe/ops/data/npy_file.hpp"
#include "troupe/ops/data/text.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/data/idx_writer.hpp"
#include "troupe/tests/ops/support.hpp"
#include "troupe/tests/skip.hpp"

namespace troupe::ops_test {

namespace {

Bytes text_bytes(const std::string& text) {
  return {text.begin(), text.end()};
}

/// The gzipped form of a text.
Bytes gzipped(const std::string& text) {
  const TemporaryDirectory directory;
  write_gzip(directory / "member", text_bytes(text));
  return read_all(directory / "member");
}

Bytes operator+(Bytes first, const Bytes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

std::string contents(const Bytes& bytes) {
  const TemporaryDirectory directory;
  write_plain(directory / "file", bytes);
  return GzipFile("test", directory / "file").read_all();
}

std::string reading_error(const Bytes& bytes) {
  return error_of([&] { contents(bytes); });
}

/// The error of `read` in a process of its own that may use `bytes` bytes more than this process has.
template <class Read>
std::string error_within(rlim_t bytes, const std::filesystem::path& error_file, Read read) {
  const auto child = fork();
  if (child == 0) {
    cpu_allocator()->trim();  // a block of an earlier test would fit
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlimit limit{pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + bytes, RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &limit);
    try {
      read();
    } catch (const std::exception& error) {
      std::ofstream(error_file) << error.what();
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  const auto text = read_all(error_file);
  return {text.begin(), text.end()};
}

}  // namespace

TEST_CASE("members and padding of a gzipped file are read", "[gzip]") {
  CHECK(contents(gzipped("first, ") + gzipped("") + gzipped("second")) == "first, second");
  CHECK(contents(gzipped("text") + Bytes(1'000, 0)) == "text");
  CHECK(contents(gzipped("one, ") + Bytes(3, 0) + gzipped("two")) == "one, two");
  CHECK(contents({}).empty());
  CHECK(contents({0x1f}) == "\x1f");
  const std::string long_text(3'000'000, 'x');
  CHECK(contents(gzipped(long_text)) == long_text);
}

TEST_CASE("bytes behind gzipped data are refused", "[gzip][errors]") {
  CHECK(contains(reading_error(gzipped("text") + text_bytes("garbage")), "bytes that are not gzipped follow"));
  CHECK(contains(reading_error(gzipped("text") + Bytes(3, 0) + text_bytes("garbage")), "bytes that are not gzipped"));
  CHECK(contains(reading_error(gzipped("text") + Bytes{0x1f}), "is truncated"));
  CHECK(contains(reading_error(gzipped("text") + Bytes{0x1f, 0x8c, 8, 0, 0, 0, 0, 0, 0, 3}),
                 "is damaged: incorrect header check"));
  const TemporaryDirectory directory;
  write_plain(directory / "labels.gz", [&] {
    write_gzip(directory / "whole.gz", idx_bytes({3}, {1, 2, 3}));
    return read_all(directory / "whole.gz") + text_bytes("garbage");
  }());
  CHECK(contains(error_of([&] { read_idx(directory / "labels.gz", 1); }), "bytes that are not gzipped follow"));
}

TEST_CASE("a gzipped file that is cut off is refused", "[gzip][errors]") {
  std::string text;
  for (int i = 0; i < 200; ++i) text += std::to_string(i * i) + " ";
  const auto whole = gzipped(text);
  REQUIRE(whole.size() > 100);
  for (std::size_t bytes = 2; bytes < whole.size(); ++bytes) {
    INFO(bytes << " of " << whole.size() << " bytes");
    CHECK(contains(reading_error(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes))),
                   "is truncated: the compressed data ends too early"));
  }
}

TEST_CASE("a gzipped file with a wrong bit is refused, or is read if the bit is without meaning", "[gzip][errors]") {
  std::string text;
  for (int i = 0; i < 200; ++i) text += std::to_string(i * i) + " ";
  const auto whole = gzipped(text);
  int refused = 0;
  for (std::size_t bit = 16; bit < 8 * whole.size(); ++bit) {
    auto damaged = whole;
    damaged[bit / 8] = static_cast<std::uint8_t>(damaged[bit / 8] ^ (1U << (bit % 8)));
    INFO("bit " << bit);
    std::string got;
    const auto error = error_of([&] { got = contents(damaged); });
    if (error.empty())
      CHECK(got == text);
    else
      ++refused;
  }
  // The header of 10 bytes has a time, and hints that change nothing.
  CHECK(refused >= static_cast<int>(8 * (whole.size() - 10)));
}

TEST_CASE("a file that does not fit into memory is named", "[gzip][errors]") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  testing::skip("sanitizers need memory that a limit forbids");
#else
  const TemporaryDirectory directory;
  const auto member = gzipped(std::string(1 << 20, '0'));
  Bytes bomb;
  for (int mebibyte = 0; mebibyte < 128; ++mebibyte) bomb = std::move(bomb) + member;
  const auto file = directory / "bomb.gz";
  write_plain(file, bomb);
  const auto expected = "'" + file.string() + "' does not fit into memory";
  constexpr rlim_t kLimit = 32 << 20;
  CHECK(error_within(kLimit, directory / "text", [&] { read_text(file); }) == "[text] " + expected);
  CHECK(error_within(kLimit, directory / "csv", [&] { read_csv(file, {{"x", {"a"}}}); }) == "[csv] " + expected);
  const std::string claim = "{'descr': '|u1', 'fortran_order': False, 'shape': (200000000,), }";
  const auto header = std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(claim.size()) + '\0' + claim;
  write_plain(file, gzipped(header) + bomb);
  CHECK(error_within(kLimit, directory / "npy", [&] { read_npy(file); }) == "[npy] " + expected);
  write_plain(file, idx_bytes({1 << 27}, {}) + Bytes(1 << 27));
  CHECK(error_within(kLimit, directory / "idx", [&] { read_idx(file, 1); }) == "[idx] " + expected);
#endif
}

}  // namespace troupe::ops_test
