#include "troupe/ops/pipeline/tf_records.hpp"

#include <cstring>
#include <stdexcept>

#include "troupe/ops/data/crc32c.hpp"
#include "troupe/ops/pipeline/record_files.hpp"

namespace troupe {

namespace {

// A record is the length of its data, 8 bytes, the checksum of the length, the data, and the checksum of the data. All
// numbers are little-endian.
constexpr std::size_t kLengthBytes = 8, kChecksumBytes = 4;
constexpr std::size_t kHeaderBytes = kLengthBytes + kChecksumBytes;

template <class T>
T number_at(std::span<const std::byte> bytes, std::size_t at) {
  T number{};
  std::memcpy(&number, bytes.data() + at, sizeof(T));
  return number;
}

/// The checksum of bytes as the format stores it: rotated and moved, so that data with checksums in it has another one.
std::uint32_t checksum_of(std::span<const std::byte> bytes) {
  const auto crc = crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xA282EAD8U;
}

RecordPlaces records_of(const RandomAccessFile& file) {
  FileScan scan(file);
  RecordPlaces places{0};
  for (std::uint64_t at = 0; at < file.bytes();) {
    const auto place = "at byte " + std::to_string(at);
    const auto header = scan.from(at, kHeaderBytes);
    if (header.size() < kHeaderBytes) file.refuse("is truncated: it ends in the header of the record " + place);
    if (number_at<std::uint32_t>(header, kLengthBytes) != checksum_of(header.first(kLengthBytes)))
      file.refuse("is damaged: the length of the record " + place + " has another checksum");
    const auto length = number_at<std::uint64_t>(header, 0), left = file.bytes() - at - kHeaderBytes;
    if (left < kChecksumBytes || length > left - kChecksumBytes)
      file.refuse("is truncated: the record " + place + " has " + std::to_string(length) + " bytes");
    at += kHeaderBytes + length + kChecksumBytes;
    places.push_back(at);
  }
  return places;
}

}  // namespace

Pipeline tf_records(const std::vector<std::string>& paths, MapOptions options) {
  const auto data_of = [](const RowView& in, RowWriter& out, RowRandom&) {
    const auto& record = in["record"];
    const std::span<const std::byte> bytes(record.raw(), record.bytes());
    const auto length = bytes.size() - kHeaderBytes - kChecksumBytes;
    if (number_at<std::uint32_t>(bytes, kHeaderBytes + length) != checksum_of(bytes.subspan(kHeaderBytes, length)))
      throw std::invalid_argument("the data has another checksum");
    out.set("record", record.view({static_cast<std::int64_t>(length)}, kHeaderBytes));
  };
  return Pipeline(rows_of_files("tf_records", paths, records_of)).map(data_of, options);
}

}  // namespace troupe
