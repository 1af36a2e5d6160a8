#include "troupe/transport/membership/cluster.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/descriptors.hpp"
#include "troupe/transport/membership/agreement.hpp"
#include "troupe/transport/membership/announcements.hpp"
#include "troupe/transport/membership/binding.hpp"
#include "troupe/transport/membership/cluster_group.hpp"
#include "troupe/transport/membership/group_list.hpp"
#include "troupe/transport/membership/job_secret.hpp"
#include "troupe/transport/membership/member_list.hpp"
#include "troupe/transport/membership/membership.hpp"
#include "troupe/transport/membership/readmission.hpp"
#include "troupe/transport/membership/rendezvous_messages.hpp"
#include "troupe/transport/membership/returns.hpp"
#include "troupe/transport/stranger_log.hpp"
#include "troupe/transport/timed_out.hpp"

namespace troupe {

namespace {

/// Returns the number of file descriptors that a rank of a job opens in any case: those of the rendezvous and the two
/// endpoints, the control connections, and a data connection. Further data connections are made when they are used.
int descriptors_of(const Job& job) {
  constexpr int kOfProcess = 40, kOfConnection = 6;
  const int control_connections = job.rank == 0 ? job.world_size - 1 : 1;
  return kOfProcess + kOfConnection * (control_connections + 1);
}

/// The cluster as seen from this process, which has two endpoints: one for data between all processes, and one for
/// control messages between rank 0 and the others, so that data does not delay control messages.
class JoinedCluster final : public Cluster {
 public:
  JoinedCluster(ClusterOptions options, std::optional<Secret> given)
      : options_(std::move(options)),
        binding_(binding_of(options_, given.has_value())),
        secret_(options_.job, std::move(given)) {
    if (size() > 1)
      require_descriptors(descriptors_of(options_.job), "cluster",
                          "rank " + std::to_string(rank()) + " of " + std::to_string(size()));
    EndpointOptions endpoint{.bind = binding_.address + "*",
                             .advertised_host = binding_.advertised_host,
                             .same_host = options_.same_host,
                             .read_in_place = options_.read_in_place,
                             .beat_interval = options_.heartbeat_interval,
                             .silence_limit = options_.heartbeat_limit};
    endpoint.on_lost = [this](int other, const EndpointAddress& address, const FailurePtr& cause) {
      note_data_loss(other, address, cause);
    };
    endpoint.on_stranger = [this](const std::string& line) { strangers_.add(line); };
    data_ = make_zeromq_endpoint(endpoint);
    // The heartbeats of Membership cross the control links.
    endpoint.silence_limit = {};
    endpoint.on_lost = {};
    // Control messages are small, so a smaller limit bounds the memory that a faulty peer can take.
    endpoint.max_payload_bytes = std::size_t{64} << 20;
    endpoint.encrypt = true;
    control_ = make_zeromq_endpoint(endpoint);
    members_.set(rendezvous(rendezvous_options(), [this](const auto& members) { add_peers(members); }));
    watch_members();
  }

  ~JoinedCluster() override {
    readmission_.reset();
    {
      std::lock_guard lock(data_losses_mutex_);
      watches_data_ = false;
    }
    // Waits up to 0.5 s until the other processes have received the last control messages, which may explain the end of
    // this process.
    control_->drain(std::chrono::milliseconds(500));
    membership_.reset();
  }

  const Job& job() const override { return options_.job; }
  ProcessRole role(int rank) const override { return members_.at(rank).role; }
  std::string machine(int rank) const override { return members_.at(rank).data.host; }
  int local_rank(int rank) const override { return members_.local_rank(rank); }

  std::shared_ptr<Link> data_link(int rank, const std::string& name) override { return data_->link(rank, name); }
  std::shared_ptr<Link> control_link(int rank, const std::string& name) override { return control_->link(rank, name); }

  std::vector<std::shared_ptr<Communicator>> communicator(const std::string& name, const std::vector<int>& processes,
                                                          AllReduceAlgorithm all_reduce) override {
    const GroupSurroundings around{rank(), size(), [this](int process) { return machine(process); },
                                   [this](int process, const std::string& link) { return data_->link(process, link); }};
    auto group = make_cluster_group(around, name, processes, all_reduce);
    for (const auto& end : group)
      if (end) groups_.add(end, processes);
    return group;
  }

  void agree(const std::string& topic, std::uint64_t hash, const std::function<std::string()>& text) override {
    await_others(*this, options_.limit, [&] { agreement_->agree(topic, hash, text); });
  }
  std::uint64_t next_generation() override { return ++generations_; }

  BusyRanks& busy() override { return membership_->busy(); }
  std::string busiest(std::chrono::milliseconds limit) const override {
    const auto busy = membership_->busy().longest();
    if (!busy || busy->time < limit || busy->rank < 0 || busy->rank >= size()) return {};
    return members_.describe(busy->rank) + " has been in " + busy->what + " for " +
           std::to_string(busy->time.count() / 1000) + " s";
  }

  FailurePtr lost() const override { return membership_->lost(); }
  bool gone(int rank) const override { return membership_->gone(rank); }
  void set_expendable(std::set<int> ranks) override {
    if (ranks.contains(0)) throw Error("cluster", "rank 0 cannot be expendable");
    membership_->set_expendable(ranks);
    if (rank() != 0) return;
    for (const int expendable : ranks)
      if (listening_.insert(expendable).second) announcements_.add_listener(expendable);
    if (!ranks.empty() && !readmission_) start_readmission();
  }
  std::shared_ptr<const OnReturned> on_returned(OnReturned callback) override {
    return returns_.add(std::move(callback));
  }
  int returns(int rank) const override { return returns_.of(rank); }
  void announce(std::vector<std::byte> bytes) override { announcements_.announce(std::move(bytes)); }
  std::optional<std::vector<std::byte>> hear(std::chrono::milliseconds limit) override {
    if (const auto why = lost()) throw Error("cluster", to_string(*why));
    return announcements_.hear(limit);
  }
  std::set<int> expendable() const override { return membership_->expendable(); }
  std::shared_ptr<const OnLost> on_lost(OnLost callback) override {
    auto handle = std::make_shared<const OnLost>(std::move(callback));
    membership_->on_lost(handle);
    return handle;
  }
  void leave() override {
    await_others(*this, options_.limit, [this] { membership_->leave(options_.limit); });
    control_->drain(std::chrono::milliseconds(2'000));
  }

 private:
  RendezvousOptions rendezvous_options() {
    RendezvousOptions options{.job = options_.job,
                              .agreement = options_.agreement,
                              .self = {control_->address(), data_->address(), options_.job.role},
                              .bind = binding_.rendezvous,
                              .secret = &secret_};
    // The data address of a rank has the same host as its control address.
    options.reach = [this](int other, auto limit) { return control_->reach(other, limit); };
    options.limit = options_.limit;
    options.silence_limit = options_.heartbeat_limit;
    options.on_notice = options_.on_notice;
    options.on_stranger = [this](const std::string& line) { strangers_.add(line); };
    return options;
  }

  void add_peers(const std::vector<Member>& members) {
    for (int rank = 0; rank < static_cast<int>(members.size()); ++rank) {
      if (rank == this->rank()) continue;
      data_->add_peer(rank, members[static_cast<std::size_t>(rank)].data);
      if (rank == 0 || this->rank() == 0) control_->add_peer(rank, members[static_cast<std::size_t>(rank)].control);
    }
  }

  /// Makes this process's ends of the control links named `name`, which join rank 0 with every other rank. Returns the
  /// ends by the rank at the other end.
  std::map<int, std::shared_ptr<Link>> star(const std::string& name) {
    std::map<int, std::shared_ptr<Link>> links;
    for (int other = 0; other < size(); ++other)
      if (other != rank() && (other == 0 || rank() == 0)) links[other] = control_->link(other, name);
    return links;
  }

  void watch_members() {
    MembershipOptions options{
        .rank = rank(), .interval = options_.heartbeat_interval, .limit = options_.heartbeat_limit};
    options.describe = [this](int other) { return members_.describe(other); };
    options.incarnation = [this](int other) { return members_.incarnation(other); };
    options.is_far = [this](int other) { return machine(other) != machine(rank()); };
    options.on_returned = [this](int other, const Tensor& member) { replace_returned(other, member); };
    options.on_gone = [this](int other, const FailurePtr& why) {
      notice(why->what + "; the others go on");
      end_waits_for(other, why);
    };
    membership_ = std::make_unique<Membership>(std::move(options), star("membership"));
    membership_->on_lost(on_lost_);
    agreement_ = std::make_unique<AgreementRound>(
        rank(), star("agreement"), options_.limit, [this] { return lost(); },
        [this](int other) { return gone(other) || membership_->expendable().contains(other); });
    // The I/O thread uses membership_ from here on, so nothing below may throw: membership_ would be destroyed first.
    std::lock_guard lock(data_losses_mutex_);
    watches_data_ = true;
    for (const auto& [other, cause] : std::exchange(data_losses_, {})) membership_->link_failed(other, cause);
  }

  // ---- Ranks that return or are gone, members, notices

  void start_readmission() {
    ReadmissionOptions options{.rendezvous = rendezvous_options()};
    options.members = [this] { return members_.all(); };
    options.replace = [this](int other, const Member& member) {
      replace(other, member);
      control_->replace_peer(other, member.control);
    };
    options.announce = [this](int other, const Member& member) {
      ByteWriter bytes;
      write(bytes, member);
      membership_->tell_returned(other, payload_of(bytes.view()));
    };
    options.admit = [this](int other) {
      membership_->take_back(other, control_->link(other, "membership"));
      announcements_.add_listener(other);
      returns_.count(other);
    };
    try {
      readmission_ = std::make_unique<Readmission>(std::move(options), *membership_);
    } catch (const Error& error) {
      notice(std::string(error.what()) + ": a rank that is gone cannot come back");
    }
  }

  void replace(int other, const Member& member) {
    data_->replace_peer(other, member.data);
    members_.replace(other, member);
  }

  /// At a rank other than 0: replaces the addresses of rank `other` by those of the process that has returned with this
  /// rank, which `bytes` has as an encoded Member.
  void replace_returned(int other, const Tensor& bytes) {
    ByteReader reader(bytes_in(bytes), "member");
    replace(other, read_member(reader));
    returns_.count(other);
    notice("[cluster] " + members_.describe(other) + " has come back");
  }

  /// A data connection has ended by itself. Membership, once it exists, makes the process at the other end lost.
  void note_data_loss(int other, const EndpointAddress& address, const FailurePtr& cause) {
    std::lock_guard lock(data_losses_mutex_);
    if (!watches_data_)
      data_losses_.emplace_back(other, cause);
    else if (members_.at(other).data.identity == address.identity)
      membership_->link_failed(other, cause);
  }

  /// Ends every wait for process `other`, which is lost or gone: fails its links, and aborts the communicators that
  /// have ranks in it. ZeroMQ itself reports the loss only where this process was connected to the lost one.
  void end_waits_for(int other, const FailurePtr& why) {
    if (other < 0 || other >= size() || other == rank()) return;
    data_->fail_peer(other, why);
    if (rank() == 0 || other == 0) control_->fail_peer(other, why);
    groups_.lose(other, why);
  }

  void notice(const std::string& line) const {
    if (options_.on_notice) options_.on_notice(line);
  }

  const ClusterOptions options_;
  const Binding binding_;
  JobSecret secret_;
  StrangerLog strangers_{options_.on_notice};
  std::mutex data_losses_mutex_;
  bool watches_data_ = false;                            // membership_ gets losses of data connections
  std::vector<std::pair<int, FailurePtr>> data_losses_;  // before watches_data_ was set
  std::shared_ptr<Endpoint> data_, control_;
  MemberList members_;
  Returns returns_;
  std::set<int> listening_;  // ranks that were added to announcements_
  Announcements announcements_{[this](int other) { return control_->link(other, "announcements"); }};
  GroupList groups_;
  /// Called when a process is lost. The loss ends the job, so it ends every communicator.
  const std::shared_ptr<const OnLost> on_lost_ = std::make_shared<const OnLost>([this](const FailurePtr& why) {
    end_waits_for(why->rank, why);
    groups_.lose_all(why);
  });
  std::unique_ptr<Membership> membership_;
  std::unique_ptr<AgreementRound> agreement_;
  std::atomic<std::uint64_t> generations_{0};
  std::unique_ptr<Readmission> readmission_;
};

}  // namespace

void await_others(Cluster& cluster, std::chrono::milliseconds limit, const std::function<void()>& wait) {
  const BusyScope waiting(cluster.busy(), std::nullopt);
  try {
    wait();
  } catch (const TimedOut& error) {
    const auto busiest = cluster.busiest(limit / 2);
    if (busiest.empty()) throw;
    throw Error("stall", busiest + ": " + error.what());
  }
}

std::shared_ptr<Cluster> join_cluster(ClusterOptions options) {
  auto given = options.job.world_size > 1 ? given_secret(options.secret_file) : std::nullopt;
  return std::make_shared<JoinedCluster>(std::move(options), std::move(given));
}

}  // namespace troupe
