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

/// The first entry in which two agreements differ, as an error text: `seed is 3 on rank 1 but 4 on rank 0`. Empty if
/// they are equal.
std::string difference(const Agreement& mine, int my_rank, const Agreement& theirs, int their_rank);

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

/// Makes the addresses of all processes of a job known to all. Every rank sends a HELLO to rank 0, which checks it and,
/// when all ranks have sent one, answers with the members. Each rank passes them to `know` and confirms it to rank 0.
/// Returns the members by rank when all ranks have confirmed. Throws Error if the processes differ (with the first
/// difference), a rank does not come within the limit, or rank 0 does not answer.
std::vector<Member> rendezvous(const RendezvousOptions& options,
                               const std::function<void(const std::vector<Member>&)>& know);

/// The first message of a process to rank 0.
struct Hello {
  std::string run_id;
  int rank = 0;
  int world_size = 0;
  Agreement agreement;
  Member self;
};
std::vector<std::byte> encode(const Hello& hello);
/// Throws Error if the bytes are not a HELLO, or one of another version of the protocol.
Hello decode_hello(std::span<const std::byte> bytes);

/// Why a HELLO does not belong to a job: because of its run id, or of its world size. Empty if that is equal.
std::string run_id_objection(const Job& job, const Hello& hello);
std::string world_size_objection(const Job& job, const Hello& hello);
/// The notice about a process whose first message is not a HELLO.
std::string foreign_notice(const std::string& reason);

}  // namespace troupe
