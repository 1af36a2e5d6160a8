#include "troupe/ops/pipeline/csv_rows.hpp"

#include <csv.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/data/csv_value.hpp"
#include "troupe/ops/pipeline/record_files.hpp"

namespace troupe {

namespace {

constexpr std::uint64_t kMostBytesOfRecord = std::uint64_t{16} << 20;

/// The texts of the record that `bytes` hold. Throws std::invalid_argument if there is no record, or several.
std::vector<std::string> texts_of(std::span<const std::byte> bytes, char separator) {
  struct Texts {
    std::vector<std::string> of_record;
    int records = 0;
  } texts;
  csv_parser parser;
  if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_EMPTY_IS_NULL) != 0)
    throw std::invalid_argument("the record cannot be parsed");
  csv_set_delim(&parser, static_cast<unsigned char>(separator));
  const auto end_text = [](void* text, std::size_t size, void* to) {
    static_cast<Texts*>(to)->of_record.emplace_back(static_cast<const char*>(text), text == nullptr ? 0 : size);
  };
  const auto end_record = [](int, void* to) { ++static_cast<Texts*>(to)->records; };
  const bool complete = csv_parse(&parser, bytes.data(), bytes.size(), end_text, end_record, &texts) == bytes.size() &&
                        csv_fini(&parser, end_text, end_record, &texts) == 0;
  const std::string reason = csv_strerror(csv_error(&parser));
  csv_free(&parser);
  if (!complete) throw std::invalid_argument("the record is broken: " + reason);
  if (texts.records != 1) throw std::invalid_argument("the record is broken: quotes are missing");
  return std::move(texts.of_record);
}

bool is_empty_line(std::span<const std::byte> line) {
  constexpr std::string_view kSpaces = " \t\r\n";
  return std::ranges::all_of(line,
                             [&](std::byte byte) { return kSpaces.find(static_cast<char>(byte)) != kSpaces.npos; });
}

/// The places of the records. A line end between quotes belongs to its record, and empty lines to the record before.
RecordPlaces places_of(const RandomAccessFile& file) {
  file.refuse_compressed("decompress it, or use read_csv()");
  FileScan scan(file);
  const auto begin = scan.from(0, 3);
  const bool has_mark = begin.size() >= 3 && std::memcmp(begin.data(), "\xEF\xBB\xBF", 3) == 0;
  std::uint64_t first = has_mark ? 3 : 0, at = first;  // the begins of the record and of the line
  RecordPlaces places;
  bool is_quoted = false;
  std::size_t least = 1;
  for (auto bytes = scan.from(at); !bytes.empty(); bytes = scan.from(at, least)) {
    const auto* end = static_cast<const std::byte*>(std::memchr(bytes.data(), '\n', bytes.size()));
    const bool is_cut = end == nullptr && at + bytes.size() < file.bytes();
    if (!is_quoted) first = at;
    const auto line_end = end == nullptr ? at + bytes.size() : at + static_cast<std::uint64_t>(end - bytes.data());
    if (line_end - first > kMostBytesOfRecord)
      file.refuse("has a record of more than 16 MiB at byte " + std::to_string(first) + ": a quote may be missing");
    least = is_cut ? 2 * bytes.size() : 1;
    if (is_cut) continue;
    const auto line = end == nullptr ? bytes : bytes.first(static_cast<std::size_t>(end - bytes.data()) + 1);
    if (!is_quoted && !is_empty_line(line)) places.push_back(at);
    if (std::ranges::count(line, std::byte{'"'}) % 2 == 1) is_quoted = !is_quoted;
    at += line.size();
  }
  places.push_back(at);
  return places;
}

/// The columns of the files, in which the texts of a field are.
struct CsvColumns {
  std::vector<std::string> names;
  std::vector<std::vector<std::size_t>> of_field;

  bool operator==(const CsvColumns&) const = default;
};

std::size_t column_named(const std::vector<std::string>& names, const std::string& name, const RandomAccessFile& file) {
  if (std::ranges::count(names, name) > 1) file.refuse("has several columns '" + name + "'");
  const auto column = std::ranges::find(names, name);
  if (column != names.end()) return static_cast<std::size_t>(column - names.begin());
  std::string list;
  for (const auto& other : names) list += (list.empty() ? "'" : ", '") + other + "'";
  file.refuse("has no column '" + name + "' among " + list);
}

/// The columns of a file by its first record.
CsvColumns columns_of(const RandomAccessFile& file, const RecordPlaces& places, const std::vector<CsvField>& fields,
                      const CsvOptions& csv) {
  if (places.size() < 2) file.refuse("has no records");
  std::vector<std::byte> record(static_cast<std::size_t>(places[1] - places[0]));
  file.read(places[0], record);
  CsvColumns columns;
  try {
    columns.names = texts_of(record, csv.separator);
  } catch (const std::invalid_argument& error) {
    file.refuse(std::string("cannot be read: ") + error.what());
  }
  if (!csv.header)
    for (std::size_t i = 0; i < columns.names.size(); ++i) columns.names[i] = std::to_string(i);
  for (const auto& field : fields) {
    auto& of_field = columns.of_field.emplace_back();
    for (const auto& name : field.columns) of_field.push_back(column_named(columns.names, name, file));
  }
  return columns;
}

RowFields row_fields_of(const std::vector<CsvField>& fields) {
  RowFields row_fields;
  for (const auto& field : fields) {
    std::vector<std::int64_t> sizes;
    if (field.columns.size() > 1) sizes.push_back(static_cast<std::int64_t>(field.columns.size()));
    if (field.contents == CsvContents::text) sizes.push_back(RowField::kVaries);
    row_fields.push_back({field.name, field.dtype, sizes});
    if (!field.missing_mask.empty()) row_fields.push_back({field.missing_mask, DType::uint8, sizes});
  }
  return row_fields;
}

/// Parses the records of files with these columns.
class CsvDecoder {
 public:
  CsvDecoder(std::vector<CsvField> fields, CsvColumns columns, char separator)
      : fields_(std::move(fields)), columns_(std::move(columns)), separator_(separator) {}

  void operator()(const RowView& in, RowWriter& out, RowRandom&) const {
    const auto texts = texts_of(std::as_bytes(in.values<std::uint8_t>("record")), separator_);
    if (texts.size() != columns_.names.size())
      throw std::invalid_argument("the record has " + std::to_string(texts.size()) + " columns, not " +
                                  std::to_string(columns_.names.size()));
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const auto& field = fields_[i];
      if (field.contents == CsvContents::text)
        set_text(field, texts[columns_.of_field[i][0]], out);
      else
        with_element_type(field.dtype, [&](auto* type) {
          set_values<std::remove_pointer_t<decltype(type)>>(field, columns_.of_field[i], texts, out);
        });
    }
  }

 private:
  static void set_text(const CsvField& field, const std::string& text, RowWriter& out) {
    std::ranges::copy(text, out.make<std::uint8_t>(field.name, {static_cast<std::int64_t>(text.size())}).begin());
  }

  template <class T>
  void set_values(const CsvField& field, const std::vector<std::size_t>& columns, const std::vector<std::string>& texts,
                  RowWriter& out) const {
    const auto shape = columns.size() == 1 ? Shape() : Shape{static_cast<std::int64_t>(columns.size())};
    const auto values = out.make<T>(field.name, shape);
    for (std::size_t i = 0; i < columns.size(); ++i) try {
        values[i] = csv_value<T>(texts[columns[i]], field);
      } catch (const std::invalid_argument& error) {
        throw std::invalid_argument("column '" + columns_.names[columns[i]] + "': " + error.what());
      }
    if (field.missing_mask.empty()) return;
    const auto mask = out.make<std::uint8_t>(field.missing_mask, shape);
    for (std::size_t i = 0; i < columns.size(); ++i) mask[i] = is_missing(texts[columns[i]], field) ? 1 : 0;
  }

  std::vector<CsvField> fields_;
  CsvColumns columns_;
  char separator_;
};

}  // namespace

Pipeline csv_rows(const std::vector<std::string>& paths, std::vector<CsvField> fields, const CsvOptions& csv,
                  const MapOptions& options) {
  if (std::string_view("\n\r\"").find(csv.separator) != std::string_view::npos)
    throw Error("csv", "the separator cannot be a line end or a double quote");
  if (paths.empty()) throw Error("csv", "there is no file");
  for (const auto& field : fields) check_csv_field(field);
  std::optional<CsvColumns> columns;
  const auto find = [&](const RandomAccessFile& file) {
    auto places = places_of(file);
    auto of_file = columns_of(file, places, fields, csv);
    if (columns && of_file != *columns) file.refuse("has other columns than '" + paths[0] + "'");
    columns = std::move(of_file);
    if (csv.header) places.erase(places.begin());
    return places;
  };
  const auto records = rows_of_files("csv", paths, find);
  auto row_fields = row_fields_of(fields);
  return Pipeline(records).map(std::move(row_fields), CsvDecoder(std::move(fields), std::move(*columns), csv.separator),
                               options);
}

}  // namespace troupe
