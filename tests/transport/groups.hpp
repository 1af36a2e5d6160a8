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
};

/// Every implementation of Communicator that there is.
const std::vector<GroupKind>& group_kinds();
/// Those within a process, where what one rank does is seen by the others at once.
std::vector<GroupKind> synchronous_group_kinds();

/// Ranks joined by in-memory links, of which the one between ranks 0 and 1 has faults.
Group make_linked_group(int ranks, LinkFaults faults = {});

/// Endpoints within this process that know each other by their number.
std::vector<std::shared_ptr<Endpoint>> make_endpoints(int count, const EndpointOptions& options = {});

/// Ranks joined by ZeroMQ, each with an endpoint; payloads may be read in place if they are on the same host.
Group make_zeromq_group(int ranks, bool same_host);

/// Runs a function for every rank on a separate thread, and passes on the first exception.
void on_ranks(const Group& group, const std::function<void(Communicator&)>& function);

/// float32[count], different on every rank; and the sums of all ranks' elements in rank order.
Tensor numbers(std::int64_t count, int rank);
std::vector<float> sum_in_rank_order(std::int64_t count, int ranks);
std::vector<float> copy_of(const Tensor& tensor);

}  // namespace troupe::testing
