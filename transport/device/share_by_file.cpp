#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/device/share_bytes.hpp"

namespace troupe::device {

namespace {

constexpr std::chrono::milliseconds kPause{5};

void write(const std::string& path, const std::vector<std::byte>& bytes) {
  if (std::filesystem::exists(path))
    throw Error("share", "'" + path + "' exists; it may hold what is left of another job");
  // Written aside: others see all of it or nothing.
  const auto aside = path + "." + std::to_string(getpid());
  std::ofstream file(aside, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw Error("share", "'" + aside + "' cannot be written");
  std::error_code error;
  std::filesystem::rename(aside, path, error);
  if (error) throw Error("share", "'" + path + "' cannot be made: " + error.message());
}

}  // namespace

std::vector<std::byte> share_by_file(const std::string& path, int rank, const std::vector<std::byte>& bytes,
                                     std::chrono::milliseconds limit) {
  if (rank == 0) {
    write(path, bytes);
    return bytes;
  }
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (true) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const auto* data = reinterpret_cast<const std::byte*>(text.data());
    if (file.is_open()) return {data, data + text.size()};
    if (std::chrono::steady_clock::now() > deadline)
      throw Error("share", "rank 0 has not written '" + path + "' within " + std::to_string(limit.count()) + " ms");
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace troupe::device
