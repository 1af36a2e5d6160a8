#include "troupe/transport/membership/job_secret.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <map>

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

const std::string kText(40, 'x');

Environment environment_with(const std::map<std::string, std::string>& variables) {
  return [variables](const std::string& name) {
    const auto entry = variables.find(name);
    return entry != variables.end() ? std::optional(entry->second) : std::nullopt;
  };
}

/// A file with a secret in the current folder, which is removed with the object.
class SecretFile {
 public:
  SecretFile(const std::string& text, mode_t mode) : path_("secret_of_test_" + std::to_string(getpid())) {
    std::ofstream(path_) << text;
    chmod(path_.c_str(), mode);
  }
  ~SecretFile() { unlink(path_.c_str()); }
  SecretFile(const SecretFile&) = delete;
  SecretFile& operator=(const SecretFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// A job on this machine, at which nothing listens. Its port is no number, so that no killed job can have left a secret
/// of the same name. The process number keeps it apart from the jobs of this test in other processes.
Job job_of(int rank, const std::string& host = "127.0.0.1", const std::string& run_id = {}) {
  return {
      .rank = rank, .world_size = 2, .rendezvous = host + ":test-" + std::to_string(getpid()) + "-", .run_id = run_id};
}

mode_t mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(lstat(path.c_str(), &status) == 0);
  CHECK(status.st_uid == geteuid());
  return status.st_mode & 0777;
}

}  // namespace

TEST_CASE("a secret is given by a file that its user alone can read, or else by a variable") {
  const auto variable = environment_with({{"TROUPE_SECRET", kText + "!"}});
  CHECK(given_secret("", variable) == Secret(kText + "!"));
  CHECK_FALSE(given_secret("", environment_with({})));
  CHECK_FALSE(given_secret("", environment_with({{"TROUPE_SECRET", ""}})));
  CHECK(given_secret(SecretFile(kText + "\n", 0600).path(), variable) == Secret(kText));
  CHECK_THROWS_WITH(given_secret(SecretFile(kText, 0640).path(), variable),
                    Contains("other users") && Contains("chmod 600"));
  CHECK_THROWS_WITH(given_secret(SecretFile("short", 0600).path(), variable), Contains("too short"));
  CHECK_THROWS_WITH(given_secret("no such file", variable),
                    Contains("'no such file' cannot be read") && Contains("openssl"));
}

TEST_CASE("rank 0 leaves its secret in a private folder, where the ranks of its port find it while it lives") {
  JobSecret other(job_of(1), {});
  CHECK_FALSE(other.find());
  {
    JobSecret first(job_of(0), {});
    CHECK(first.path() == other.path());
    CHECK_FALSE(other.find());
    first.publish();
    REQUIRE(other.find());
    CHECK(other.find() == first.find());
    CHECK(mode_of(first.path()) == 0600);
    CHECK(mode_of(std::filesystem::path(first.path()).parent_path()) == 0700);
    CHECK(JobSecret(job_of(1, "localhost"), {}).find() == first.find());
    CHECK(JobSecret(job_of(1, "127.0.0.1", "another run"), {}).find() == first.find());
    auto elsewhere = job_of(1);
    elsewhere.rendezvous += "1";
    CHECK(JobSecret(elsewhere, {}).find() == std::nullopt);
  }
  CHECK_FALSE(other.find());
}

TEST_CASE("a rank knows whether rank 0 has left its secret while the rank waited") {
  JobSecret early(job_of(1), {});
  JobSecret first(job_of(0), {});
  first.publish();
  CHECK(early.is_new(*early.find()));
  JobSecret late(job_of(1), {});
  CHECK_FALSE(late.is_new(*late.find()));
  JobSecret second(job_of(0), {});
  second.publish();
  CHECK(late.is_new(*late.find()));
  const JobSecret given(job_of(1), Secret(kText));
  CHECK_FALSE(given.is_new(*given.find()));
}

TEST_CASE("a secret that an earlier job has left is replaced, and stays when the earlier job ends late") {
  JobSecret other(job_of(1), {});
  auto earlier = std::make_unique<JobSecret>(job_of(0), std::nullopt);
  earlier->publish();
  const auto stale = other.find();
  JobSecret first(job_of(0), {});
  first.publish();
  CHECK(other.find() == first.find());
  CHECK(other.find() != stale);
  earlier.reset();
  CHECK(other.find() == first.find());
}

TEST_CASE("a given secret is written nowhere") {
  JobSecret first(job_of(0), Secret(kText));
  first.publish();
  CHECK(first.path().empty());
  CHECK(first.find() == Secret(kText));
}
