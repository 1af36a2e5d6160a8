#pragma once

#include <string>
#include <vector>

#include "troupe/ops/data/csv_file.hpp"
#include "troupe/ops/pipeline/pipeline.hpp"

namespace troupe {

/// The records of CSV files, one file after the other, as rows with these fields. Indexed. The files may be larger than
/// memory, but must not be compressed, and must have the same columns. The format is that of read_csv(), with fields of
/// free text besides; a field of one column has the shape [], a field of several columns [columns].
///
/// Throws Error that names the file for one that is missing, has no header where `csv` says so, has other columns than
/// the first file, or has a record of more than 16 MiB, which a missing quote makes. Throws the errors of read_csv()
/// for a field. Reading throws Error that names file, record and column for a text that does not fit its field; with
/// UnreadableRows::skip in `options` such records are left out.
Pipeline csv_rows(const std::vector<std::string>& paths, std::vector<CsvField> fields, const CsvOptions& csv = {},
                  const MapOptions& options = {});

}  // namespace troupe
