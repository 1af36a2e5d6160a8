#include "troupe/transport/membership/member_list.hpp"

#include <algorithm>

#include "troupe/ops/core/hash.hpp"
#include "troupe/transport/membership/binding.hpp"

namespace troupe {

void MemberList::set(std::vector<Member> members) {
  std::lock_guard lock(mutex_);
  members_ = std::move(members);
}

void MemberList::replace(int rank, const Member& member) {
  std::lock_guard lock(mutex_);
  members_.at(static_cast<std::size_t>(rank)) = member;
}

std::vector<Member> MemberList::all() const {
  std::lock_guard lock(mutex_);
  return members_;
}

Member MemberList::at(int rank) const {
  std::lock_guard lock(mutex_);
  return members_.at(static_cast<std::size_t>(rank));
}

int MemberList::local_rank(int rank) const {
  const auto members = all();
  const auto& host = members.at(static_cast<std::size_t>(rank)).data.host;
  return static_cast<int>(std::count_if(members.begin(), members.begin() + rank,
                                        [&](const auto& lower) { return lower.data.host == host; }));
}

std::uint64_t MemberList::incarnation(int rank) const {
  const auto members = all();
  if (rank < 0 || rank >= static_cast<int>(members.size())) return 0;
  Hash hash;
  hash.add(members[static_cast<std::size_t>(rank)].data.identity);
  return hash.digest();
}

std::string MemberList::describe(int rank) const {
  const auto data = at(rank).data;
  const auto host = host_of(data.tcp);
  return "process " + std::to_string(rank) + " (" + host.substr(host.rfind('/') + 1) +
         (data.pid > 0 ? ", pid " + std::to_string(data.pid) : "") + ")";
}

}  // namespace troupe
