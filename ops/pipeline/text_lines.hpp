#pragma once

#include <string>
#include <vector>

#include "troupe/ops/pipeline/pipeline.hpp"

namespace troupe {

/// The lines of text files, one file after the other: rows with a field "text", uint8 [?], the bytes of a line without
/// its end, LF or CR LF. Indexed. Files may be larger than memory. Throws Error that names the file if it cannot be
/// read or is compressed.
Pipeline text_lines(const std::vector<std::string>& paths);

}  // namespace troupe
