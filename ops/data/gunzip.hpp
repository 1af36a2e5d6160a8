#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace troupe {

/// Decompresses a gzipped file into `to`, with libdeflate, which takes half the time of a stream of zlib but needs the
/// whole file in memory. Returns true if the file is one member whose contents have the size of `to`. Returns false
/// else, and for files above kMostOfGunzip; `to` has any contents then, and a GzipFile tells what is wrong or reads the
/// file.
bool gunzip(const std::filesystem::path& path, std::span<std::byte> to);

/// The largest file, in bytes, that gunzip() reads into memory.
constexpr std::size_t kMostOfGunzip = std::size_t{1} << 28;

}  // namespace troupe
