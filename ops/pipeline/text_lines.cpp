#include "troupe/ops/pipeline/text_lines.hpp"

#include <cstring>

#include "troupe/ops/pipeline/record_files.hpp"

namespace troupe {

namespace {

RecordPlaces lines_of(const RandomAccessFile& file) {
  file.refuse_compressed("decompress it");
  FileScan scan(file);
  RecordPlaces places{0};
  std::uint64_t at = 0;
  for (auto bytes = scan.from(0); !bytes.empty(); bytes = scan.from(at)) {
    const auto* const end = static_cast<const std::byte*>(std::memchr(bytes.data(), '\n', bytes.size()));
    at += end == nullptr ? bytes.size() : static_cast<std::uint64_t>(end - bytes.data()) + 1;
    if (end != nullptr) places.push_back(at);
  }
  // The last line may have no end.
  if (places.back() < at) places.push_back(at);
  return places;
}

}  // namespace

Pipeline text_lines(const std::vector<std::string>& paths) {
  const auto without_end = [](const RowView& in, RowWriter& out, RowRandom&) {
    const auto& record = in["record"];
    const auto bytes = record.data<std::uint8_t>();
    auto size = bytes.size();
    if (size > 0 && bytes[size - 1] == '\n') --size;
    if (size > 0 && bytes[size - 1] == '\r') --size;
    out.set("text", record.view({static_cast<std::int64_t>(size)}));
  };
  return Pipeline(rows_of_files("text_lines", paths, lines_of))
      .map({{"text", DType::uint8, {RowField::kVaries}}}, without_end);
}

}  // namespace troupe
