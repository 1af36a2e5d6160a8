#include "troupe/ops/data/csv_file.hpp"

#include <csv.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <type_traits>
#include <utility>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/data/csv_number.hpp"
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

/// The position of a field in a CSV file, which errors name.
struct Place {
  const GzipFile& file;
  std::size_t record;
  const std::string& column;

  /// Throws Error that names the place and the text of the field, followed by `what`.
  [[noreturn]] void refuse(const std::string& text, const std::string& what) const {
    file.refuse("record " + std::to_string(record) + ", column '" + column + "': '" + text + "' " + what);
  }
};

float float_of(const std::string& text, const Place& place) {
  const auto number = parse_csv_float(text);
  if (!number) place.refuse(text, "is not a number");
  if (std::isinf(*number)) place.refuse(text, "is too large");
  return *number;
}

/// The integer in the text. It is read from the digits, not through a double, because a double does not hold every
/// 64-bit integer.
template <class T>
T integer_of(const std::string& text, DType dtype, const Place& place) {
  const auto number = parse_csv_decimal(text);
  // A text that is a float32 but not a decimal is an infinity.
  if (!number) place.refuse(text, parse_csv_float(text) ? "is too large" : "is not a number");
  if (!number->is_integer()) place.refuse(text, "is not an integer");
  const auto integer = to_integer<T>(*number);
  if (!integer) place.refuse(text, "is out of the range of " + std::string(name_of(dtype)));
  return *integer;
}

template <class T>
T value_of(const std::string& text, const CsvField& field, const Place& place) {
  if (!field.categories.empty()) {
    const auto category = std::ranges::find(field.categories, text);
    if (category == field.categories.end()) place.refuse(text, "is not one of the categories");
    return static_cast<T>(category - field.categories.begin());
  }
  if constexpr (std::is_integral_v<T>)
    return integer_of<T>(text, field.dtype, place);
  else
    return float_of(text, place);
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

  template <class T>
  Tensor read(const CsvField& field) const {
    std::vector<std::size_t> columns;
    for (const auto& name : field.columns) columns.push_back(column(name));
    std::vector<T> elements;
    for (std::size_t row = 0; row < records.size(); ++row)
      for (const auto at : columns)
        elements.push_back(value_of<T>(records[row][at], field, {file, first_record + row, names[at]}));
    const auto rows = static_cast<std::int64_t>(records.size()), width = static_cast<std::int64_t>(columns.size());
    return Tensor::from<T>(width == 1 ? Shape{rows} : Shape{rows, width}, elements);
  }

  Tensor read(const CsvField& field) const {
    if (field.columns.empty()) throw Error("csv", "field '" + field.name + "' has no columns");
    if (field.categories.size() > (field.dtype == DType::uint8 ? std::size_t{256} : std::size_t{1} << 24))
      throw Error("csv", "field '" + field.name + "' has more categories than its dtype can hold");
    if (is_16_bit(field.dtype))
      throw Error("csv", "field '" + field.name + "' cannot be " + std::string(name_of(field.dtype)));
    return with_element_type(field.dtype,
                             [&](auto* type) { return read<std::remove_pointer_t<decltype(type)>>(field); });
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
  for (const auto& field : fields) arrays.emplace_back(field.name, table.read(field));
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
