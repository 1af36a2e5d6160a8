#pragma once

#include <string>
#include <vector>

#include "troupe/ops/pipeline/pipeline.hpp"

namespace troupe {

/// A function for map() that decodes the message tf.train.Example in the field "record", uint8 [?]. Each of `fields`
/// has the feature of its name: a float_list gives float32, an int64_list int64 or int32, and a bytes_list of one text
/// uint8. The values fill the field in row-major order; one size may be RowField::kVaries and follows from their
/// number. Features that no field names are left out. The function throws for a damaged message, and for a feature that
/// is missing, has another type or number of values, or a value out of the range of int32. Throws Error if a field has
/// another dtype or several sizes that vary. Source of the format: tensorflow/core/example/example.proto.
MapFunction decode_example(RowFields fields);

/// The examples of TFRecord files, as rows with these fields; see tf_records() and decode_example(). Damaged records
/// and examples stop the reading, or are left out, as `options` say.
Pipeline tf_examples(const std::vector<std::string>& paths, const RowFields& fields, const MapOptions& options = {});

}  // namespace troupe
