#include "troupe/ops/data/decoded_files.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "troupe/ops/data/idx_file.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/data/idx_writer.hpp"
#include "troupe/tests/ops/support.hpp"

namespace troupe::ops_test {

namespace {

constexpr std::int64_t kRowsOfFile = 300, kColumnsOfFile = 4096;

/// A data file, a folder for decoded copies, and a decoder that counts its calls.
class Decoder {
 public:
  Decoder() { write_file("first"); }

  void write_file(const std::string& text) { std::ofstream(directory_ / "file") << text; }
  std::filesystem::path folder() const { return directory_ / "copies"; }
  std::filesystem::path copy() const { return std::filesystem::directory_iterator(folder())->path(); }
  int calls() const { return calls_; }

  Tensor elements(std::int64_t rows = kRowsOfFile) const {
    Tensor tensor({rows, kColumnsOfFile}, DType::uint8);
    std::uint32_t number = 1;
    for (auto& element : tensor.mutable_data<std::uint8_t>())
      element = static_cast<std::uint8_t>((number = number * 1664525 + 1013904223) >> 24);
    return tensor;
  }
  Tensor get(const std::filesystem::path& folder, std::int64_t rows = kRowsOfFile) {
    return DecodedFiles(folder).get(directory_ / "file", "test", [&] { return ++calls_, elements(rows); });
  }
  /// Gets the elements and checks them.
  void check_get() {
    const auto tensor = get(folder());
    CHECK(tensor.shape() == Shape{kRowsOfFile, kColumnsOfFile});
    CHECK(tensor.dtype() == DType::uint8);
    const auto exact = elements();
    CHECK(std::ranges::equal(tensor.data<std::uint8_t>(), exact.data<std::uint8_t>()));
  }
  /// Checks that the copy is left out, and replaced by one that is used.
  void check_left_out() {
    const auto before = calls_;
    check_get();
    CHECK(calls_ == before + 1);
    check_get();
    CHECK(calls_ == before + 1);
  }

  const TemporaryDirectory& directory() const { return directory_; }

 private:
  TemporaryDirectory directory_;
  int calls_ = 0;
};

void change_byte(const std::filesystem::path& path, std::int64_t position) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(position);
  const char changed = static_cast<char>(file.get() ^ 1);
  file.seekp(position);
  file.put(changed);
}

}  // namespace

TEST_CASE("a file is decoded once", "[data]") {
  Decoder decoder;
  decoder.check_get();
  decoder.check_get();
  CHECK(decoder.calls() == 1);
}

TEST_CASE("who writes to the elements of a copy does not change the copy", "[data]") {
  Decoder decoder;
  decoder.check_get();
  const auto mapped = decoder.get(decoder.folder());
  std::ranges::fill(mapped.mutable_data<std::uint8_t>(), std::uint8_t{7});
  decoder.check_get();
  CHECK(decoder.calls() == 1);
}

TEST_CASE("a file that has changed is decoded again", "[data]") {
  Decoder decoder;
  decoder.check_get();
  decoder.write_file("another size");
  decoder.check_left_out();
  // The same size at another time.
  decoder.write_file("ANOTHER SIZE");
  std::filesystem::last_write_time(decoder.directory() / "file", std::filesystem::file_time_type::clock::now());
  decoder.check_left_out();
}

TEST_CASE("a damaged copy is left out and replaced", "[data]") {
  Decoder decoder;
  decoder.check_get();
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(decoder.copy()));
  std::vector<std::int64_t> positions{bytes - 1, bytes / 2, bytes - kRowsOfFile * kColumnsOfFile};
  for (std::int64_t in_lines = 0; in_lines < 40; ++in_lines) positions.push_back(in_lines);
  for (const auto position : positions) {
    INFO(position);
    change_byte(decoder.copy(), position);
    decoder.check_left_out();
  }
  for (const auto size :
       {bytes - 1, bytes + 1, bytes - kRowsOfFile * kColumnsOfFile, std::int64_t{100}, std::int64_t{0}}) {
    INFO(size);
    std::filesystem::resize_file(decoder.copy(), static_cast<std::uintmax_t>(size));
    decoder.check_left_out();
  }
}

TEST_CASE("a copy that others can write, or a link, is left out", "[data]") {
  Decoder decoder;
  decoder.check_get();
  REQUIRE(chmod(decoder.copy().c_str(), 0666) == 0);
  decoder.check_left_out();
  const auto copy = decoder.copy();
  std::filesystem::rename(copy, decoder.directory() / "elsewhere");
  std::filesystem::create_symlink(decoder.directory() / "elsewhere", copy);
  const auto before = decoder.calls();
  decoder.check_get();
  CHECK(decoder.calls() == before + 1);
}

TEST_CASE("without a folder that can be written every file is decoded", "[data]") {
  Decoder decoder;
  for (const auto& folder : {std::filesystem::path(), decoder.directory() / "file" / "folder"})
    for (int i = 0; i < 2; ++i) CHECK(decoder.get(folder).bytes() == kRowsOfFile * kColumnsOfFile);
  CHECK(decoder.calls() == 4);
}

TEST_CASE("no copy of a small file is kept", "[data]") {
  Decoder decoder;
  for (int i = 0; i < 2; ++i) decoder.get(decoder.folder(), 1);
  CHECK(decoder.calls() == 2);
  CHECK(!std::filesystem::exists(decoder.folder()));
}

TEST_CASE("a gzipped file of images has a decoded copy", "[data]") {
  const TemporaryDirectory directory;
  const auto folder = directory / "copies";
  setenv("TROUPE_DATA_CACHE", folder.c_str(), 1);
  Bytes elements(std::size_t{1} << 20);
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<std::uint8_t>(i * i >> 5);
  write_gzip(directory / "file.gz", idx_bytes({1 << 10, 32, 32}, elements));
  for (int i = 0; i < 2; ++i)
    CHECK(std::ranges::equal(read_idx(directory / "file.gz", 3).data<std::uint8_t>(), elements));
  CHECK(std::distance(std::filesystem::directory_iterator(folder), {}) == 1);
  CHECK_THROWS(read_idx(directory / "file.gz", 1));
  setenv("TROUPE_DATA_CACHE", "off", 1);
}

}  // namespace troupe::ops_test
