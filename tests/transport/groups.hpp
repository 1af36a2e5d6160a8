#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "troupe/transport/communicator.hpp"
#include "troupe/transport/endpoint.hpp"

namespace troupe::testing {

using Group = std::vector<std::shared_ptr<Communicator>>;

/// A way of making a group of ranks within this process.
struct GroupKind {
  std::string name;
  std::function<Group(int ranks)> make;
  /// Sums are in rank order.
  bool canonical = true;
};

/// Every implementation of Communicator that there is.
const std::vector<GroupKind>& group_kinds();
/// Those within a process, where what one rank does is seen by the others at once.
std::vector<GroupKind> synchronous_group_kinds();

/// Makes a rank's end of its links to the others.
using JoinRanks = std::function<std::shared_ptr<Communicator>(int rank, std::vector<std::shared_ptr<Link>> links)>;

/// Ranks joined by in-memory links, of which the one between ranks 0 and 1 has faults.
Group make_linked_group(int ranks, LinkFaults faults = {}, const JoinRanks& join = make_linked_communicator);

/// Ranks on machines of two. `with_entry`: no rank can leave Hierarchy::across, but Hierarchy::entry.
Group make_hierarchical_group(int ranks, bool with_entry = false);

/// Endpoints within this process that know each other by their number.
std::vector<std::shared_ptr<Endpoint>> make_endpoints(int count, const EndpointOptions& options = {});

/// Ranks joined by ZeroMQ, each with an endpoint; payloads may be read in place if they are on the same host.
Group make_zeromq_group(int ranks, bool same_host, const JoinRanks& join = make_linked_communicator);

/// Runs a function for every rank on a separate thread, and passes on the first exception.
void on_ranks(const Group& group, const std::function<void(Communicator&)>& function);

/// float32[count], different on every rank; and the sums of all ranks' elements in rank order.
Tensor numbers(std::int64_t count, int rank);
std::vector<float> sum_in_rank_order(std::int64_t count, int ranks);
/// The sum of a group of that kind, of whose order nothing is known: within rounding of the sum in rank order.
bool is_sum(const std::vector<float>& values, std::int64_t count, int ranks, const GroupKind& kind);
std::vector<float> copy_of(const Tensor& tensor);

}  // namespace troupe::testing
