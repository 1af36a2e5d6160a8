#include "troupe/ops/data/gzip_file.hpp"

#include <zlib.h>

#include <algorithm>
#include <system_error>

#include "troupe/ops/core/error.hpp"

namespace troupe {

GzipFile::GzipFile(std::string place, const std::filesystem::path& path) : place_(std::move(place)), path_(path) {
  std::error_code unreadable;
  if (!std::filesystem::is_regular_file(path, unreadable)) refuse("does not exist or is no file");
  file_.reset(gzopen(path.c_str(), "rb"));
  if (!file_) refuse("cannot be opened");
  gzbuffer(file_.get(), 1U << 18);
}

void GzipFile::Close::operator()(gzFile_s* file) const {
  gzclose(file);
}

void GzipFile::refuse(const std::string& what) const {
  throw Error(place_, "'" + path_.string() + "' " + what);
}

std::size_t GzipFile::read(void* to, std::size_t bytes) {
  const auto count = gzread(file_.get(), to, static_cast<unsigned>(bytes));
  int code = Z_OK;
  const std::string reason = gzerror(file_.get(), &code);
  if (code == Z_BUF_ERROR) refuse("is truncated: the compressed data ends too early");
  if (count < 0 || code != Z_OK) refuse("is damaged: " + reason);
  return static_cast<std::size_t>(count);
}

std::string GzipFile::read_all(std::size_t limit) {
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  std::string all;
  for (bool at_end = false; !at_end && all.size() < limit;) {
    const auto old_size = all.size(), chunk = std::min(kChunk, limit - old_size);
    all.resize(old_size + chunk);
    const auto count = read(all.data() + old_size, chunk);
    all.resize(old_size + count);
    at_end = count < chunk;
  }
  return all;
}

std::size_t GzipFile::claimed_elements(const Shape& shape) const {
  try {
    return static_cast<std::size_t>(shape.elements());
  } catch (const Error&) {
    refuse("claims " + to_string(shape) + ", more than memory can hold");
  }
}

}  // namespace troupe
