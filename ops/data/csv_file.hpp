#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "troupe/ops/data/dataset.hpp"

namespace troupe {

/// The meaning of the texts in the columns of a CsvField without categories.
enum class CsvContents {
  numbers,
  dates,       ///< such as 2024-02-29; the field holds the days since 1970-01-01
  date_times,  ///< such as 2024-02-29T12:30:59 or 2024-02-29 12:30:59; the field holds the seconds since 1970-01-01
  text         ///< free text of one column, uint8 [bytes]; for csv_rows() alone
};

/// A field of a data set or pipeline, and the columns of a CSV file that it holds.
struct CsvField {
  std::string name;
  /// The columns by their names in the first record, or by their numbers, from 0, if the file has no header. A field of
  /// one column has the shape [B], a field of several columns [B, columns].
  std::vector<std::string> columns;
  /// The dtype of the field, which must be float32, int32, int64 or uint8.
  DType dtype = DType::float32;
  /// If not empty, every text in the columns must be in this list, and the field holds the index of the text in the
  /// list.
  std::vector<std::string> categories = {};
  CsvContents contents = CsvContents::numbers;
  /// The value for an empty text. Nothing: an empty text is an error, unless it is a category.
  std::optional<double> missing = {};
  /// If not empty, the name of one more field, uint8, of the same shape: 1 for an empty text, else 0.
  std::string missing_mask = {};
};

/// The format of a CSV file.
struct CsvOptions {
  /// The character between the columns, which must not be a line end or a double quote.
  char separator = ',';
  /// True: the first record has the names of the columns. False: it is a row of data.
  bool header = true;
};

/// Reads a file of comma-separated values (RFC 4180, with line ends LF or CR LF), gzipped or plain. Empty lines are
/// skipped. Spaces and tabs around a column's text belong to it only in double quotes.
///
/// A number is an optional sign, digits with an optional decimal point, and an optional exponent, such as -1.50e1. A
/// float32 is the nearest one to the number, which is a subnormal number or zero if the number is very small. An
/// integer is read exactly: 12.0 and 1e3 are integers, 0.5 and 1e-400 are fractions. Numbers do not depend on the
/// locale.
///
/// Throws Error that names the file, and the record and column if there are any, for: a missing, damaged or empty file,
/// one that does not fit into memory, broken quotes, a record with another number of columns than the first, a missing
/// or ambiguous column, a text that is not a number or a date, a number out of the range of the dtype, a fraction for
/// an integer dtype, an unknown category. Throws Error that names the field for: a field without columns, a 16-bit
/// dtype, more categories than the dtype can hold, free text. Throws Error if the separator is a line end or a double
/// quote.
Dataset read_csv(const std::filesystem::path& file, const std::vector<CsvField>& fields,
                 const CsvOptions& options = {});

}  // namespace troupe
