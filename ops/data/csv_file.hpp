#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "troupe/ops/data/dataset.hpp"

namespace troupe {

/// A field of a data set that comes from columns of a table.
struct CsvField {
  std::string name;
  /// The columns by their names in the first record; without a header by their numbers, from 0. Of one column a field
  /// is [B], of several [B, columns].
  std::vector<std::string> columns;
  /// float32, int32, int64 or uint8.
  DType dtype = DType::float32;
  /// If given, the column holds these texts, and the field the number of each in this list.
  std::vector<std::string> categories = {};
};

struct CsvOptions {
  char separator = ',';
  /// The first record has the names of the columns.
  bool header = true;
};

/// Reads a table of comma-separated values (RFC 4180: quotes, line ends of either kind), gzipped or plain. Empty lines
/// are no records. Throws Error that names file, record and column if something cannot be read: a number that is none
/// or out of the dtype's range, a record of another length, an unknown category, a column that is not there, broken
/// quotes.
Dataset read_csv(const std::filesystem::path& file, const std::vector<CsvField>& fields,
                 const CsvOptions& options = {});

}  // namespace troupe
