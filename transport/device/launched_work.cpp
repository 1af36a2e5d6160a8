#include "troupe/transport/device/launched_work.hpp"

#include <algorithm>

namespace troupe::device {

namespace {

std::string ranks_named(const std::vector<std::string>& names) {
  std::string text = names.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

}  // namespace

std::string names_of(const std::vector<DeviceRank>& ranks) {
  std::vector<std::string> names;
  for (const auto& [rank, device] : ranks) names.push_back(std::to_string(rank) + " (" + to_string(device) + ")");
  return ranks_named(names);
}

std::string names_of_others(const std::vector<DeviceRank>& local, int ranks) {
  std::vector<std::string> names;
  for (int rank = 0; rank < ranks; ++rank)
    if (std::ranges::find(local, rank, &DeviceRank::rank) == local.end()) names.push_back(std::to_string(rank));
  return ranks_named(names);
}

std::string LaunchedWork::description() const {
  if (is_done()) return "nothing";
  std::vector<DeviceRank> missing, unfinished;
  for (std::size_t i = 0; i < local_.size(); ++i) {
    if (!ready()[i].done()) missing.push_back(local_[i]);
    if (!done_[i].done()) unfinished.push_back(local_[i]);
  }
  if (!missing.empty())
    return what() + ": " + names_of(missing) + (missing.size() == 1 ? " has" : " have") + " not come";
  const auto waiting = what() + ": " + names_of(unfinished) + " " + (unfinished.size() == 1 ? "waits" : "wait");
  if (static_cast<int>(local_.size()) == ranks_) return waiting + " for the devices";
  return waiting + " for " + names_of_others(local_, ranks_) + " of other processes";
}

}  // namespace troupe::device
