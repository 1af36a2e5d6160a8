#include "troupe/ops/data/gunzip.hpp"

#include <libdeflate.h>

#include <fstream>
#include <memory>
#include <new>
#include <system_error>

namespace troupe {

namespace {

/// The bytes of a file. `size` is 0 if the file is empty, too large or unreadable, or if memory runs out.
struct FileBytes {
  std::unique_ptr<char[]> bytes;
  std::size_t size = 0;

  explicit FileBytes(const std::filesystem::path& path) {
    std::error_code unknown;
    const auto expected = std::filesystem::file_size(path, unknown);
    if (unknown || expected > kMostOfGunzip) return;
    bytes.reset(new (std::nothrow) char[expected]);
    std::ifstream file(path, std::ios::binary);
    if (bytes != nullptr && file.read(bytes.get(), static_cast<std::streamsize>(expected))) size = expected;
  }
};

struct FreeDecompressor {
  void operator()(libdeflate_decompressor* decompressor) const { libdeflate_free_decompressor(decompressor); }
};

}  // namespace

bool gunzip(const std::filesystem::path& path, std::span<std::byte> to) {
  const FileBytes file(path);
  if (file.size == 0) return false;
  const std::unique_ptr<libdeflate_decompressor, FreeDecompressor> decompressor(libdeflate_alloc_decompressor());
  if (decompressor == nullptr) return false;
  std::size_t used = 0;
  // Without a place for the number of bytes that are written, any number below that of `to` is an error.
  const auto result = libdeflate_gzip_decompress_ex(decompressor.get(), file.bytes.get(), file.size, to.data(),
                                                    to.size(), &used, nullptr);
  return result == LIBDEFLATE_SUCCESS && used == file.size;
}

}  // namespace troupe
