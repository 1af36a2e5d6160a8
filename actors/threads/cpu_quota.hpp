#pragma once

#include <filesystem>
#include <optional>

namespace troupe {

/// CPU quota of this process in cores, such as 2.5: the smallest quota of its control group and all enclosing groups
/// (cpu.max, or cpu.cfs_quota_us of cgroup v1). std::nullopt if none of them has a quota that can be read. `root` is
/// the folder that contains proc and sys/fs/cgroup.
std::optional<double> cpu_quota(const std::filesystem::path& root = "/");

/// Number of threads that can run at once on `cores` cores within a quota: the whole cores of the quota, at least 1 and
/// at most `cores`; `cores` if there is no quota. One thread more would use up the quota before the end of a period,
/// and all threads would wait for the next period.
int cores_within(int cores, std::optional<double> quota);

}  // namespace troupe
