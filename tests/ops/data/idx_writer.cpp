#include "troupe/tests/ops/data/idx_writer.hpp"

#include <stdlib.h>
#include <zlib.h>

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace troupe::ops_test {

TemporaryDirectory::TemporaryDirectory() {
  auto name = (std::filesystem::temp_directory_path() / "troupe-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Bytes idx_bytes(const std::vector<std::uint32_t>& sizes, const Bytes& elements) {
  Bytes bytes{0, 0, 8, static_cast<std::uint8_t>(sizes.size())};
  for (auto size : sizes)
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<std::uint8_t>(size >> shift));
  bytes.insert(bytes.end(), elements.begin(), elements.end());
  return bytes;
}

void write_plain(const std::filesystem::path& path, const Bytes& bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

void write_gzip(const std::filesystem::path& path, const Bytes& bytes) {
  auto* file = gzopen(path.c_str(), "wb");
  if (file == nullptr ||
      gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())) != static_cast<int>(bytes.size()) ||
      gzclose(file) != Z_OK)
    throw std::runtime_error("cannot write " + path.string());
}

Bytes read_all(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace troupe::ops_test
