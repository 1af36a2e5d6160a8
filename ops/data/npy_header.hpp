#pragma once

#include <string>
#include <string_view>

#include "troupe/ops/core/shape.hpp"
#include "troupe/ops/data/gzip_file.hpp"

namespace troupe {

/// The contents of the header of an .npy file: the element type, such as "<f4", the order of the elements and the
/// shape.
struct NpyHeader {
  std::string type;
  bool fortran_order = false;
  Shape shape;
};

/// Parses the text of a header: a Python dictionary with the keys 'descr', 'fortran_order' and 'shape' and no other, in
/// any order. Source of the format: numpy.lib.format. Throws Error that names the file if the text is anything else,
/// the elements are records or objects, or the shape has more than Shape::kMaxRank axes.
NpyHeader parse_npy_header(const GzipFile& file, std::string_view text);

}  // namespace troupe
