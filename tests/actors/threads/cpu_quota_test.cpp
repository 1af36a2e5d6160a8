#include "troupe/actors/threads/cpu_quota.hpp"

#include <unistd.h>

#include <fstream>
#include <string>

#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

namespace fs = std::filesystem;

/// A made-up system's root folder.
class Root {
 public:
  Root() : path_(fs::temp_directory_path() / ("cpu_quota_test_" + std::to_string(getpid()))) { fs::remove_all(path_); }
  ~Root() { fs::remove_all(path_); }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;

  const Root& write(const fs::path& file, const std::string& text) const {
    fs::create_directories((path_ / file).parent_path());
    std::ofstream(path_ / file) << text;
    return *this;
  }
  /// The groups that the process is in, as proc(5) lists them.
  const Root& groups(const std::string& text) const { return write("proc/self/cgroup", text); }
  /// A group of cgroup v2.
  const Root& unified(const std::string& group, const std::string& cpu_max) const {
    return write(fs::path("sys/fs/cgroup") / group / "cpu.max", cpu_max);
  }
  /// A group of cgroup v1.
  const Root& controller(const fs::path& group, const std::string& quota, const std::string& period) const {
    write("sys/fs/cgroup" / group / "cpu.cfs_quota_us", quota);
    return write("sys/fs/cgroup" / group / "cpu.cfs_period_us", period);
  }
  std::optional<double> quota() const { return cpu_quota(path_); }

 private:
  fs::path path_;
};

}  // namespace

TEST_CASE("a system without control groups has no CPU quota") {
  const Root root;
  CHECK_FALSE(root.quota());
  root.groups("0::/\n");
  CHECK_FALSE(root.quota());
}

TEST_CASE("cgroup v2 has a quota in cpu.max") {
  const Root root;
  root.groups("0::/pod/container\n").unified("pod/container", "250000 100000\n");
  CHECK(root.quota() == 2.5);
  root.unified("pod/container", "max 100000\n");
  CHECK_FALSE(root.quota());
  root.unified("pod/container", "20000 40000\n");
  CHECK(root.quota() == 0.5);
}

TEST_CASE("the smallest CPU quota of nested groups counts") {
  const Root root;
  root.groups("0::/pod/container/job\n");
  root.unified("pod", "300000 100000\n")
      .unified("pod/container", "max 100000\n")
      .unified("pod/container/job", "800000 100000\n");
  CHECK(root.quota() == 3.0);
  root.unified("pod/container", "150000 100000\n");
  CHECK(root.quota() == 1.5);
  root.unified("pod/container/job/below", "10000 100000\n").unified("pod/other", "10000 100000\n");
  CHECK(root.quota() == 1.5);
}

TEST_CASE("a container that sees its own group alone has that group's CPU quota") {
  const Root root;
  SECTION("in a namespace of groups") {
    root.groups("0::/\n").unified("", "200000 100000\n");
  }
  SECTION("in a mount that begins at the group") {
    root.groups("4:cpu,cpuacct:/docker/1a2b\n").controller("cpu,cpuacct", "200000", "100000");
  }
  SECTION("in a group outside the mount") {
    root.groups("0::/../other\n").unified("", "200000 100000\n").unified("../other", "100000 100000\n");
  }
  CHECK(root.quota() == 2.0);
}

TEST_CASE("cgroup v1 has a CPU quota in two files") {
  const Root root;
  const std::string groups = "9:name=systemd:/\n5:cpuset:/set\n4:cpu,cpuacct:/a:b/c\n0::/\n";
  root.groups(groups).controller("cpuset/set", "100000", "100000");
  CHECK_FALSE(root.quota());
  root.controller("cpu/a:b/c", "-1\n", "100000\n");
  CHECK_FALSE(root.quota());
  root.controller("cpu/a:b/c", "350000\n", "100000\n");
  CHECK(root.quota() == 3.5);
  root.controller("cpu/a:b", "50000\n", "50000\n");
  CHECK(root.quota() == 1.0);
  // Both kinds at once: the smaller one counts.
  root.unified("", "75000 100000\n");
  CHECK(root.quota() == 0.75);
}

TEST_CASE("malformed files of control groups are no CPU quota") {
  const Root root;
  for (const auto* const text : {"", "\n", "100000", "100000 0", "100000 -5", "0 100000", "-1 100000", "1e5 100000",
                                 "100000 x", "99999999999999999999999 100000", "nan 100000"}) {
    INFO(text);
    root.groups("0::/\n").unified("", text);
    CHECK_FALSE(root.quota());
  }
  root.unified("", "100000 100000");
  for (const auto* const text : {"", "0", "0:", "0::", "::", "no colon\n", "x:cpux:/\n"}) {
    INFO(text);
    root.groups(text);
    // A line without a group belongs to the mounted one, at most.
    CHECK(root.quota().value_or(1.0) == 1.0);
  }
  root.groups("4:cpu:/\n").controller("cpu", "200000", "");
  CHECK_FALSE(root.quota());
  root.controller("cpu", "", "100000");
  CHECK_FALSE(root.quota());
}

TEST_CASE("whole cores of a quota run threads, at least one") {
  CHECK(cores_within(8, std::nullopt) == 8);
  CHECK(cores_within(8, 100.0) == 8);
  CHECK(cores_within(8, 8.0) == 8);
  CHECK(cores_within(8, 7.9) == 7);
  CHECK(cores_within(8, 2.0) == 2);
  CHECK(cores_within(8, 0.25) == 1);
  CHECK(cores_within(1, 1e300) == 1);
}
