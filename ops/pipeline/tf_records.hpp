#pragma once

#include <string>
#include <vector>

#include "troupe/ops/pipeline/pipeline.hpp"

namespace troupe {

/// The records of TFRecord files, one file after the other: rows with a field "record", uint8 [?]. Indexed. Files may
/// be larger than memory. Source of the format: TensorFlow, tensorflow/core/lib/io/record_writer.h. Throws Error that
/// names the file and the byte if a length is damaged or a file is truncated. Reading throws Error for a record whose
/// checksum is wrong, and names file and record; with UnreadableRows::skip in `options` such records are left out.
Pipeline tf_records(const std::vector<std::string>& paths, MapOptions options = {});

}  // namespace troupe
