#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "troupe/transport/endpoint.hpp"
#include "troupe/transport/job/job.hpp"

namespace troupe {

/// Values that must be equal in all processes of a job, by name: `seed`, `data`, ...
using Agreement = std::vector<std::pair<std::string, std::string>>;

/// The addresses and the role of a process, as the other processes of the job know it.
struct Member {
  EndpointAddress control;
  EndpointAddress data;
  ProcessRole role = ProcessRole::any;
};

/// The job and this process's part in it.
struct RendezvousOptions {
  Job job;
  Agreement agreement;
  Member self;
  /// At rank 0: tcp://address:port at which it accepts the others.
  std::string bind;
  /// How long a rank waits for the others.
  std::chrono::milliseconds limit{60'000};
  /// Called with one line about each process that connects but does not belong to the job.
  std::function<void(const std::string& line)> on_notice = {};
};

using OnMembers = std::function<void(const std::vector<Member>&)>;

/// Makes the addresses of all processes of a job known to all. Every rank sends a HELLO to rank 0, which checks it and,
/// when all ranks have sent one, answers with the members. Each rank passes them to `know` and confirms it to rank 0.
/// Returns the members by rank when all ranks have confirmed. Throws Error if the processes differ (with the first
/// difference), a rank does not come within the limit, or rank 0 does not answer.
std::vector<Member> rendezvous(const RendezvousOptions& options, const OnMembers& know);

}  // namespace troupe
