#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "troupe/transport/endpoint.hpp"
#include "troupe/transport/job/job.hpp"
#include "troupe/transport/membership/job_secret.hpp"

namespace troupe {

/// Pairs of a name and a value that must be equal in all processes of a job, such as `seed`.
using Agreement = std::vector<std::pair<std::string, std::string>>;

/// The addresses and the role of a process, which the other processes of the job receive.
struct Member {
  EndpointAddress control;
  EndpointAddress data;
  ProcessRole role = ProcessRole::any;
};

/// How long a rank waits until a connection to another rank is accepted. TCP sends a lost first packet again after 1 s,
/// and once more 2 s later.
inline constexpr std::chrono::seconds kReachLimit{8};

/// The job, this process as a member of it, and the settings of rendezvous(), by which all processes meet at the start
/// of the job.
struct RendezvousOptions {
  Job job;
  Agreement agreement;
  Member self;
  /// At rank 0: the addresses tcp://address:port at which rank 0 accepts the other ranks.
  std::vector<std::string> bind;
  /// The secret of the job. Must outlive the rendezvous.
  JobSecret* secret = nullptr;
  /// Connects to the addresses of a member, after this process has passed the members to `know`, and waits up to
  /// `limit`. Rank 0 calls it for every other rank, and another rank for rank 0, again while it returns `pending`,
  /// until kReachLimit has passed.
  std::function<Contact(int rank, std::chrono::milliseconds limit)> reach = [](int, auto) { return Contact::accepted; };
  /// How long a rank waits for the other ranks.
  std::chrono::milliseconds limit{60'000};
  /// A process that has come and is silent for longer than this, while it waits for the others, is lost. So is rank 0
  /// if it has listened and then refuses every connection for longer than this.
  std::chrono::milliseconds silence_limit{2'500};
  /// Called with one line about each process with the secret that is refused, because its rank is taken or does not
  /// exist, or its run id differs.
  std::function<void(const std::string& line)> on_notice = {};
  /// Called with one line about each connection without the secret, and about each message that is no HELLO.
  std::function<void(const std::string& line)> on_stranger = {};
};

using OnMembers = std::function<void(const std::vector<Member>&)>;

/// Exchanges the members of a job between all its processes. Every other rank sends rank 0 a HELLO with its member,
/// which rank 0 checks. When all ranks have sent one, rank 0 answers with the members. Each rank passes the members to
/// `know`, and confirms them to rank 0 by sending its HELLO again. Before that, every rank connects to rank 0, and
/// after that rank 0 to every rank, at the addresses of the members. Returns the members by rank when all ranks have
/// confirmed; a job of one process returns at once without calling `know`. Throws Error if the processes differ (with
/// the first difference), if a rank does not come within the limit or cannot be reached, if a rank that has come dies
/// or falls silent before all have come, or if rank 0 refuses this process or does not answer.
std::vector<Member> rendezvous(const RendezvousOptions& options, const OnMembers& know);

}  // namespace troupe
