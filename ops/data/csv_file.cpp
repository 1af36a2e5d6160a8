#include "troupe/ops/data/csv_file.hpp"

#include <csv.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/data/csv_value.hpp"
#include "troupe/ops/data/gzip_file.hpp"

namespace troupe {

namespace {

using Record = std::vector<std::string>;

/// The result of a parse by libcsv: the complete records, and in `open` the fields so far of the record that is not
/// complete yet.
struct Parsed {
  std::vector<Record> records;
  Record open;
};

void end_field(void* text, std::size_t size, void* parsed) {
  static_cast<Parsed*>(parsed)->open.emplace_back(static_cast<const char*>(text), text == nullptr ? 0 : size);
}

void end_record(int, void* parsed) {
  auto& [records, open] = *static_cast<Parsed*>(parsed);
  records.push_back(std::exchange(open, {}));
}

std::vector<Record> records_of(GzipFile& file, const CsvOptions& options) {
  csv_parser parser;
  if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_EMPTY_IS_NULL) != 0) file.refuse("cannot be parsed");
  csv_set_delim(&parser, static_cast<unsigned char>(options.separator));
  auto text = file.read_all();
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);  // the byte order mark of UTF-8
  Parsed parsed;
  const bool complete = csv_parse(&parser, text.data(), text.size(), end_field, end_record, &parsed) == text.size() &&
                        csv_fini(&parser, end_field, end_record, &parsed) == 0;
  const std::string reason = csv_strerror(csv_error(&parser));
  csv_free(&parser);
  if (!complete) file.refuse("has a broken record " + std::to_string(parsed.records.size() + 1) + ": " + reason);
  return std::move(parsed.records);
}

/// A parsed CSV file: the names of the columns, and the records without the one that holds the names.
struct Table {
  const GzipFile& file;
  Record names;
  std::vector<Record> records;
  std::size_t first_record;  // number of records[0] in the file, counted from 1

  std::size_t column(const std::string& name) const {
    const auto first = std::ranges::find(names, name);
    if (std::ranges::count(names, name) > 1) file.refuse("has several columns '" + name + "'");
    if (first != names.end()) return static_cast<std::size_t>(first - names.begin());
    std::string list;
    for (const auto& other : names) list += (list.empty() ? "'" : ", '") + other + "'";
    file.refuse("has no column '" + name + "' among " + list);
  }

  /// Adds the arrays of a field: its values and, with a mask, the places of empty texts.
  void read(const CsvField& field, Dataset::Arrays& arrays) const {
    check_csv_field(field);
    if (field.contents == CsvContents::text)
      throw Error("csv", "field '" + field.name + "' has texts of different lengths: use csv_rows()");
    with_element_type(field.dtype, [&](auto* type) { read<std::remove_pointer_t<decltype(type)>>(field, arrays); });
  }

 private:
  template <class T>
  void read(const CsvField& field, Dataset::Arrays& arrays) const {
    std::vector<std::size_t> columns;
    for (const auto& name : field.columns) columns.push_back(column(name));
    std::vector<T> elements;
    std::vector<std::uint8_t> mask;
    for (std::size_t row = 0; row < records.size(); ++row)
      for (const auto at : columns) {
        elements.push_back(value<T>(row, at, field));
        mask.push_back(is_missing(records[row][at], field) ? 1 : 0);
      }
    const auto rows = static_cast<std::int64_t>(records.size()), width = static_cast<std::int64_t>(columns.size());
    const auto shape = width == 1 ? Shape{rows} : Shape{rows, width};
    arrays.emplace_back(field.name, Tensor::from<T>(shape, elements));
    if (!field.missing_mask.empty()) arrays.emplace_back(field.missing_mask, Tensor::from<std::uint8_t>(shape, mask));
  }

  template <class T>
  T value(std::size_t row, std::size_t column, const CsvField& field) const {
    try {
      return csv_value<T>(records[row][column], field);
    } catch (const std::invalid_argument& error) {
      file.refuse("record " + std::to_string(first_record + row) + ", column '" + names[column] + "': " + error.what());
    }
  }
};

Dataset read_table(GzipFile& file, const std::vector<CsvField>& fields, const CsvOptions& options) {
  auto records = records_of(file, options);
  if (records.empty()) file.refuse("has no records");
  Table table{file, {}, std::move(records), options.header ? std::size_t{2} : std::size_t{1}};
  if (options.header) {
    table.names = std::move(table.records.front());
    table.records.erase(table.records.begin());
  } else {
    for (std::size_t i = 0; i < table.records.front().size(); ++i) table.names.push_back(std::to_string(i));
  }
  for (std::size_t row = 0; row < table.records.size(); ++row)
    if (table.records[row].size() != table.names.size())
      file.refuse("record " + std::to_string(table.first_record + row) + " has " +
                  std::to_string(table.records[row].size()) + " columns, not " + std::to_string(table.names.size()));
  Dataset::Arrays arrays;
  for (const auto& field : fields) table.read(field, arrays);
  return Dataset::from_arrays(arrays);
}

}  // namespace

Dataset read_csv(const std::filesystem::path& path, const std::vector<CsvField>& fields, const CsvOptions& options) {
  if (std::string_view("\n\r\"").find(options.separator) != std::string_view::npos)
    throw Error("csv", "the separator cannot be a line end or a double quote");
  GzipFile file("csv", path);
  return file.within_memory([&] { return read_table(file, fields, options); });
}

}  // namespace troupe
