#include "troupe/ops/core/durable_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>

#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

[[noreturn]] void refuse(std::string_view place, const std::filesystem::path& path, const char* what) {
  throw Error(place, "'" + path.string() + "' " + what + ": " + std::generic_category().message(errno));
}

/// An open file or folder.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) (void)close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }

 private:
  int number_;
};

/// Returns false if not all bytes can be written; errno has the cause.
bool write_all(int file, std::span<const std::byte> bytes) {
  constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;
  while (!bytes.empty()) {
    const auto written = write(file, bytes.data(), std::min(bytes.size(), kMostAtOnce));
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = EIO;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

void write_durably(std::string_view place, const std::filesystem::path& path,
                   std::span<const std::span<const std::byte>> parts) {
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.number() < 0) refuse(place, path, "cannot be made");
  for (const auto& part : parts)
    if (!write_all(file.number(), part)) refuse(place, path, "cannot be written");
  if (fsync(file.number()) != 0) refuse(place, path, "cannot be written");
}

void sync_folder(std::string_view place, const std::filesystem::path& folder) {
  const Descriptor descriptor(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.number() < 0) refuse(place, folder, "cannot be read");
  // File systems that cannot do this for a folder say so by these errors; some of networks are among them.
  if (fsync(descriptor.number()) != 0 && errno != EINVAL && errno != ENOTSUP)
    refuse(place, folder, "cannot be written");
}

}  // namespace troupe
