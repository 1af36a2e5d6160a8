#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "troupe/transport/endpoint.hpp"
#include "troupe/transport/job/job.hpp"

namespace troupe {

/// What must be the same in all processes of a job, by name: `seed`, `data`, ...
using Agreement = std::vector<std::pair<std::string, std::string>>;

/// The first entry in which two agreements differ, for people: `seed is 3 on rank 1 but 4 on rank 0`. Empty if they are
/// alike.
std::string difference(const Agreement& mine, int my_rank, const Agreement& theirs, int their_rank);

/// One process of a job as the others know it.
struct Member {
  EndpointAddress control;
  EndpointAddress data;
  ProcessRole role = ProcessRole::any;
};

struct RendezvousOptions {
  Job job;
  Agreement agreement;
  Member self;
  /// tcp://address:port, for rank 0: where the lobby is.
  std::string bind;
  std::chrono::milliseconds limit{60'000};
  /// Told of whoever came and does not belong to the job: one line.
  std::function<void(const std::string& line)> on_notice = {};
};

/// The processes of a job find each other: all send a HELLO to rank 0, which checks it and tells all who is there.
/// Returns the members by rank, when every process has told rank 0 that it knows them: `know` is called with them
/// before. Throws Error if the processes differ (with the first difference), one does not come within the limit, or
/// rank 0 does not answer.
std::vector<Member> rendezvous(const RendezvousOptions& options,
                               const std::function<void(const std::vector<Member>&)>& know);

/// What a process sends first.
struct Hello {
  std::string run_id;
  int rank = 0;
  int world_size = 0;
  Agreement agreement;
  Member self;
};
std::vector<std::byte> encode(const Hello& hello);
/// Throws Error if the bytes are no HELLO, or one of another version of the protocol.
Hello decode_hello(std::span<const std::byte> bytes);

}  // namespace troupe
