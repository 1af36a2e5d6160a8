#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "troupe/ops/data/dataset.hpp"

namespace troupe {

/// A field of a data set that is read from columns of a table.
struct CsvField {
  std::string name;
  /// The names of the columns in the first record; without a header their numbers, from 0. A field of one column is
  /// [B], a field of several is [B, columns].
  std::vector<std::string> columns;
  /// float32, int32, int64 or uint8.
  DType dtype = DType::float32;
  /// If given, the column holds these texts, and the field the index of each text in this list.
  std::vector<std::string> categories = {};
};

/// The format of a CSV file.
struct CsvOptions {
  char separator = ',';
  /// Whether the first record has the names of the columns.
  bool header = true;
};

/// Reads a table of comma-separated values (RFC 4180: quotes, line ends of either kind), gzipped or plain. Empty lines
/// are skipped. Throws Error that names file, record and column for: text that is not a number, a number out of the
/// dtype's range, a record of another length, an unknown category, a missing column, broken quotes.
Dataset read_csv(const std::filesystem::path& file, const std::vector<CsvField>& fields,
                 const CsvOptions& options = {});

}  // namespace troupe
