#include "troupe/tests/ops/pipeline/files_of_records.hpp"

#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace troupe::ops_test {

namespace {

/// The CRC-32C of a text, bit by bit, and masked as TFRecord files have it.
std::uint32_t masked_checksum(std::string_view text) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const auto character : text) {
    crc ^= static_cast<unsigned char>(character);
    for (int bit = 0; bit < 8; ++bit) crc = crc % 2 == 1 ? crc / 2 ^ 0x82F63B78 : crc / 2;
  }
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xA282EAD8;
}

template <class T>
std::string bytes_of(T number) {
  return {reinterpret_cast<const char*>(&number), sizeof(number)};
}

}  // namespace

FilesOfRecords::FilesOfRecords()
    : folder_(std::filesystem::temp_directory_path() / ("records-" + std::to_string(getpid()))) {
  std::filesystem::create_directories(folder_);
}

FilesOfRecords::~FilesOfRecords() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string FilesOfRecords::write(const std::string& name, std::string_view contents) const {
  std::ofstream(folder_ / name, std::ios::binary) << contents;
  return path(name);
}

std::string tf_record(std::string_view data) {
  const auto length = bytes_of(static_cast<std::uint64_t>(data.size()));
  return length + bytes_of(masked_checksum(length)) + std::string(data) + bytes_of(masked_checksum(data));
}

}  // namespace troupe::ops_test
