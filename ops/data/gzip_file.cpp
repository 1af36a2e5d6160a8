#include "troupe/ops/data/gzip_file.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <system_error>

namespace troupe {

namespace {

/// The first byte of a member of a gzipped file; the second is 0x8b.
constexpr unsigned char kGzipMagic = 0x1f;

}  // namespace

/// The open file. `stream.next_in` points to the bytes of `buffer` that are not used yet.
struct GzipFile::Source {
  std::ifstream file;
  std::array<unsigned char, std::size_t{1} << 18> buffer;
  z_stream stream{};
  bool compressed = false;
  bool in_member = false;    // true: the compressed data goes on
  bool after_first = false;  // true: a member of the file has been read
  ~Source() {
    if (compressed) inflateEnd(&stream);
  }
};

GzipFile::GzipFile(std::string place, const std::filesystem::path& path)
    : place_(std::move(place)), path_(path), source_(std::make_unique<Source>()) {
  std::error_code unreadable;
  if (!std::filesystem::is_regular_file(path, unreadable)) refuse("does not exist or is no file");
  source_->file.open(path, std::ios::binary);
  if (!source_->file) refuse("cannot be opened");
  auto& stream = source_->stream;
  if (!has_input() || stream.avail_in < 2 || stream.next_in[0] != kGzipMagic || stream.next_in[1] != 0x8b) return;
  constexpr int kExpectGzip = 16;
  if (inflateInit2(&stream, MAX_WBITS + kExpectGzip) != Z_OK) refuse_size();
  source_->compressed = true;
}

GzipFile::~GzipFile() = default;

void GzipFile::refuse(const std::string& what) const {
  throw Error(place_, "'" + path_.string() + "' " + what);
}

void GzipFile::refuse_size() const {
  refuse("does not fit into memory");
}

/// Reads the next part of the file into the buffer if all of the buffer is used. Returns false at the end of the file.
bool GzipFile::has_input() {
  auto& [file, buffer, stream, compressed, in_member, after_first] = *source_;
  if (stream.avail_in > 0) return true;
  file.read(reinterpret_cast<char*>(buffer.data()), static_cast<std::streamsize>(buffer.size()));
  if (file.bad()) refuse("cannot be read");
  stream.next_in = buffer.data();
  stream.avail_in = static_cast<unsigned>(file.gcount());
  return stream.avail_in > 0;
}

/// Goes to the next member of a gzipped file, over zeros between members. Returns false at the end of the file.
bool GzipFile::begin_member() {
  auto& stream = source_->stream;
  for (; source_->after_first && has_input() && *stream.next_in == 0; ++stream.next_in) --stream.avail_in;
  if (!has_input()) return false;
  if (*stream.next_in != kGzipMagic)
    refuse("is damaged: bytes that are not gzipped follow its compressed data; cut them off");
  inflateReset(&stream);
  return source_->in_member = true;
}

std::size_t GzipFile::copy(unsigned char* to, std::size_t bytes) {
  if (!has_input()) return 0;
  auto& stream = source_->stream;
  const auto count = std::min<std::size_t>(bytes, stream.avail_in);
  std::memcpy(to, stream.next_in, count);
  stream.next_in += count;
  stream.avail_in -= static_cast<unsigned>(count);
  return count;
}

/// Writes at least one and at most `bytes` decompressed bytes to `to` and returns their number; 0 at the end of the
/// file.
std::size_t GzipFile::inflate_some(unsigned char* to, std::size_t bytes) {
  auto& [file, buffer, stream, compressed, in_member, after_first] = *source_;
  const auto room = static_cast<unsigned>(std::min<std::size_t>(bytes, std::numeric_limits<unsigned>::max()));
  while (in_member || begin_member()) {
    has_input();
    stream.next_out = to;
    stream.avail_out = room;
    const auto code = inflate(&stream, Z_NO_FLUSH);
    if (code == Z_BUF_ERROR) refuse("is truncated: the compressed data ends too early");
    if (code == Z_MEM_ERROR) refuse_size();
    if (code != Z_OK && code != Z_STREAM_END)
      refuse(std::string("is damaged: ") + (stream.msg == nullptr ? "no gzip data" : stream.msg));
    if (code == Z_STREAM_END) after_first = true, in_member = false;
    if (stream.avail_out < room) return room - stream.avail_out;
  }
  return 0;
}

bool GzipFile::compressed() const {
  return source_->compressed;
}

std::size_t GzipFile::most_bytes() const {
  constexpr std::size_t kMostOfOne = 1032;
  std::error_code unknown;
  const auto bytes = std::filesystem::file_size(path_, unknown);
  if (unknown) refuse("cannot be read");
  return bytes * (source_->compressed ? kMostOfOne : 1);
}

std::size_t GzipFile::read(void* to, std::size_t bytes) {
  auto* target = static_cast<unsigned char*>(to);
  std::size_t count = 0;
  while (count < bytes) {
    const auto more = source_->compressed ? inflate_some(target + count, bytes - count)  //
                                          : copy(target + count, bytes - count);
    if (more == 0) break;
    count += more;
  }
  return count;
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
