#include "troupe/transport/membership/job_secret.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/membership/binding.hpp"

namespace troupe {

namespace {

constexpr mode_t kOthers = S_IRWXG | S_IRWXO;
constexpr std::size_t kLongestSecret = 4'096;

/// A file descriptor that is closed with the object; -1 if the file could not be opened.
class OpenFile {
 public:
  OpenFile(const std::filesystem::path& path, int flags, mode_t mode = 0)
      : descriptor_(::open(path.c_str(), flags | O_CLOEXEC, mode)) {}
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

/// Returns the first kLongestSecret bytes of an open file.
std::string contents(const OpenFile& file) {
  std::array<char, kLongestSecret> bytes;
  const auto count = ::read(file.descriptor(), bytes.data(), bytes.size());
  return count > 0 ? std::string(bytes.data(), static_cast<std::size_t>(count)) : std::string();
}

/// Whether `path` is a folder of this user, to which other users have no access.
bool is_private_folder(const std::filesystem::path& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
         (status.st_mode & kOthers) == 0;
}

/// Returns the private folder, which is made if it does not exist: in the folder of XDG_RUNTIME_DIR or systemd's, which
/// belong to this user, else in /tmp.
std::filesystem::path private_folder() {
  const auto user = std::to_string(geteuid());
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  for (const std::filesystem::path parent : {runtime != nullptr ? std::string(runtime) : "", "/run/user/" + user}) {
    auto folder = parent / "troupe";
    if (!is_private_folder(parent)) continue;
    mkdir(folder.c_str(), S_IRWXU);
    if (is_private_folder(folder)) return folder;
  }
  auto folder = std::filesystem::path("/tmp") / ("troupe-" + user);
  mkdir(folder.c_str(), S_IRWXU);
  if (!is_private_folder(folder))
    throw Error("secret", folder.string() +
                              " cannot hold the secret of the job, because it is no folder of this user "
                              "alone (mode 700): set XDG_RUNTIME_DIR to such a folder, or give the secret "
                              "to every process with --secret-file or " +
                              kSecretVariable);
  return folder;
}

/// Returns the name of a job's secret: the port of its rendezvous and the network namespace, in which one process at a
/// time listens at the port. Ranks may spell the host in different ways, and rank 0 itself compares their run ids.
std::string file_name(const Job& job) {
  struct stat network {};
  (void)stat("/proc/self/ns/net", &network);
  return "port-" + port_of_address(job.rendezvous) + "-" + std::to_string(network.st_ino);
}

}  // namespace

std::optional<Secret> given_secret(const std::string& path, const Environment& environment) {
  if (path.empty()) {
    const auto text = environment(kSecretVariable);
    return text && !text->empty() ? std::optional<Secret>(*text) : std::nullopt;
  }
  const OpenFile file(path, O_RDONLY);
  struct stat status {};
  if (file.descriptor() < 0 || fstat(file.descriptor(), &status) != 0)
    throw Error("secret",
                "the file '" + path + "' cannot be read: " + std::strerror(errno) + "; create one with " + kMakeSecret);
  if ((status.st_mode & kOthers) != 0)
    throw Error("secret",
                "other users may read the secret in '" + path + "': change that with `chmod 600 " + path + "`");
  return Secret(contents(file));
}

JobSecret::JobSecret(const Job& job, std::optional<Secret> given) : secret_(std::move(given)) {
  if (secret_ || job.world_size == 1) return;
  path_ = private_folder() / file_name(job);
  earlier_ = find();
  if (job.rank != 0) return;
  text_ = random_secret_text();
  secret_.emplace(text_);
}

JobSecret::~JobSecret() {
  if (text_.empty()) return;
  const OpenFile file(path_, O_RDONLY | O_NOFOLLOW);
  if (file.descriptor() >= 0 && contents(file) == text_) unlink(path_.c_str());
}

void JobSecret::publish() {
  if (text_.empty()) return;
  // Written under another name first, so that a rank never reads a part of it.
  const auto unfinished = path_.string() + "." + random_hex(8);
  {
    const OpenFile file(unfinished, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    const auto written = file.descriptor() < 0 ? -1 : ::write(file.descriptor(), text_.data(), text_.size());
    if (written == static_cast<ssize_t>(text_.size()) && rename(unfinished.c_str(), path_.c_str()) == 0) return;
  }
  const std::string why = std::strerror(errno);
  unlink(unfinished.c_str());
  throw Error("secret", "the secret of the job cannot be written to " + path_.string() + ": " + why);
}

std::optional<Secret> JobSecret::find() const {
  if (secret_) return secret_;
  const OpenFile file(path_, O_RDONLY | O_NOFOLLOW);
  if (file.descriptor() < 0) return std::nullopt;
  const auto text = contents(file);
  return text.empty() ? std::nullopt : std::optional<Secret>(text);
}

}  // namespace troupe
