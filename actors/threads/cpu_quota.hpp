#pragma once

#include <filesystem>
#include <optional>

namespace troupe {

/// Cores' worth of processor time that the control groups of this process let it use, such as 2.5: the smallest quota
/// of its group and all groups around it (cpu.max, or cpu.cfs_quota_us of cgroup v1). Null if none has a quota that can
/// be read. `root`: where proc and sys/fs/cgroup are.
std::optional<double> cpu_quota(const std::filesystem::path& root = "/");

/// Threads that `cores` cores run at once within a quota: whole cores, at least one. One thread more would use the
/// quota up before the end of a period, and all threads would wait for the next.
int cores_within(int cores, std::optional<double> quota);

}  // namespace troupe
