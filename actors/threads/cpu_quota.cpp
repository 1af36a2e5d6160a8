#include "troupe/actors/threads/cpu_quota.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>

namespace troupe {

namespace {

using Path = std::filesystem::path;
using Quota = std::optional<double>;

/// The quota in cores: the CPU time `quota` that a group may use in each `period`, both in microseconds. std::nullopt,
/// which means no limit, if one of them is not positive: cgroup v1 has the quota -1 if there is no limit.
Quota cores_of(std::int64_t quota, std::int64_t period) {
  if (quota <= 0 || period <= 0) return std::nullopt;
  return static_cast<double>(quota) / static_cast<double>(period);
}

/// The quota of a group of cgroup v2. One file, `cpu.max`, has the quota and the period; the quota is `max` if there is
/// no limit.
Quota quota_of_unified(const Path& group) {
  std::ifstream file(group / "cpu.max");
  std::int64_t quota = 0, period = 0;
  if (!(file >> quota >> period)) return std::nullopt;
  return cores_of(quota, period);
}

/// The quota of a group of cgroup v1. One file has the quota, another the period.
Quota quota_of_controller(const Path& group) {
  std::ifstream quota_file(group / "cpu.cfs_quota_us"), period_file(group / "cpu.cfs_period_us");
  std::int64_t quota = 0, period = 0;
  if (!(quota_file >> quota) || !(period_file >> period)) return std::nullopt;
  return cores_of(quota, period);
}

Quota smaller(Quota a, Quota b) {
  return a && b ? std::min(*a, *b) : a ? a : b;
}

/// The smallest quota of the groups on the path from `mount` down to `group`. Groups without a readable file count as
/// unlimited: in a container whose mount begins at its own group, the rest of the path may be missing.
Quota smallest(const Path& mount, const Path& group, Quota (*quota_of)(const Path&)) {
  auto quota = quota_of(mount);
  auto at = mount;
  for (const auto& name : group.relative_path()) {
    // From `..` on the path lies outside the mount, where no file can be read.
    if (name == "..") break;
    at /= name;
    quota = smaller(quota, quota_of(at));
  }
  return quota;
}

bool has_cpu(const std::string& controllers) {
  return ("," + controllers + ",").find(",cpu,") != std::string::npos;
}

}  // namespace

std::optional<double> cpu_quota(const std::filesystem::path& root) {
  const auto groups = root / "sys/fs/cgroup";
  Quota quota;
  std::ifstream file(root / "proc/self/cgroup");
  // A line is "hierarchy:controllers:group". The line of cgroup v2 has no controllers.
  std::string hierarchy, controllers, group;
  while (std::getline(file, hierarchy, ':') && std::getline(file, controllers, ':') && std::getline(file, group)) {
    if (controllers.empty())
      quota = smaller(quota, smallest(groups, group, quota_of_unified));
    else if (has_cpu(controllers))
      for (const auto& mount : {groups / "cpu", groups / controllers})
        quota = smaller(quota, smallest(mount, group, quota_of_controller));
  }
  return quota;
}

int cores_within(int cores, std::optional<double> quota) {
  return quota && *quota < cores ? std::max(1, static_cast<int>(*quota)) : cores;
}

}  // namespace troupe
