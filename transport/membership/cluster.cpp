#include "troupe/transport/membership/cluster.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/membership/agreement.hpp"
#include "troupe/transport/membership/announcements.hpp"
#include "troupe/transport/membership/binding.hpp"
#include "troupe/transport/membership/cluster_group.hpp"
#include "troupe/transport/membership/member_bytes.hpp"
#include "troupe/transport/membership/membership.hpp"
#include "troupe/transport/membership/reception.hpp"

namespace troupe {

namespace {

class JoinedCluster final : public Cluster {
 public:
  explicit JoinedCluster(ClusterOptions options) : options_(std::move(options)) {
    const auto binding = binding_of(options_);
    EndpointOptions endpoint{.bind = binding.address + "*",
                             .advertised_host = binding.advertised_host,
                             .same_host = options_.same_host,
                             .on_stranger = options_.on_notice};
    data_ = make_zeromq_endpoint(endpoint);
    // Control is small, and must not depend on what data do.
    endpoint.max_payload_bytes = std::size_t{64} << 20;
    control_ = make_zeromq_endpoint(endpoint);
    const RendezvousOptions meeting{options_.job,
                                    options_.agreement,
                                    {control_->address(), data_->address(), options_.job.role},
                                    binding.address + port_of_address(options_.job.rendezvous),
                                    options_.limit,
                                    options_.on_notice};
    members_ = rendezvous(meeting, [this](const auto& members) { know(members); });
    watch_over();
  }

  ~JoinedCluster() override {
    reception_.reset();
    // The others may still have to hear why this process goes.
    control_->drain(std::chrono::milliseconds(500));
    membership_.reset();
  }

  const Job& job() const override { return options_.job; }
  ProcessRole role(int rank) const override { return member(rank).role; }
  std::string machine(int rank) const override { return host_of_rank(rank); }
  int local_rank(int rank) const override {
    const auto all = members();
    const auto& host = all.at(static_cast<std::size_t>(rank)).data.host;
    return static_cast<int>(
        std::count_if(all.begin(), all.begin() + rank, [&](const auto& m) { return m.data.host == host; }));
  }

  std::shared_ptr<Link> data_link(int rank, const std::string& name) override { return data_->link(rank, name); }
  std::shared_ptr<Link> control_link(int rank, const std::string& name) override { return control_->link(rank, name); }

  std::vector<std::shared_ptr<Communicator>> communicator(const std::string& name, const std::vector<int>& processes,
                                                          AllReduceAlgorithm all_reduce) override {
    const GroupSurroundings around{rank(), size(), [this](int process) { return host_of_rank(process); },
                                   [this](int process, const std::string& link) { return data_->link(process, link); }};
    return make_cluster_group(around, name, processes, all_reduce);
  }

  void agree(const std::string& topic, std::uint64_t hash, const std::function<std::string()>& text) override {
    agreement_->agree(topic, hash, text);
  }
  std::uint64_t next_generation() override { return ++generations_; }

  FailurePtr lost() const override { return membership_->lost(); }
  bool gone(int rank) const override { return membership_->gone(rank); }
  void set_expendable(std::set<int> ranks) override {
    if (ranks.contains(0)) throw Error("cluster", "rank 0 cannot be expendable");
    membership_->set_expendable(ranks);
    if (rank() != 0) return;
    for (const int expendable : ranks)
      if (listening_.insert(expendable).second) announcements_.add_listener(expendable);
    if (!ranks.empty() && !reception_) open_reception();
  }
  std::shared_ptr<const OnReturned> on_returned(OnReturned callback) override {
    std::lock_guard lock(returned_mutex_);
    auto handle = std::make_shared<const OnReturned>(std::move(callback));
    std::erase_if(on_returned_, [](const auto& known) { return known.expired(); });
    on_returned_.push_back(handle);
    return handle;
  }
  int returns(int rank) const override {
    std::lock_guard lock(returned_mutex_);
    const auto found = returns_.find(rank);
    return found == returns_.end() ? 0 : found->second;
  }
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
    membership_->leave(options_.limit);
    control_->drain(std::chrono::milliseconds(2'000));
  }

 private:
  void know(const std::vector<Member>& members) {
    for (int rank = 0; rank < static_cast<int>(members.size()); ++rank) {
      if (rank == this->rank()) continue;
      data_->add_peer(rank, members[static_cast<std::size_t>(rank)].data);
      if (rank == 0 || this->rank() == 0) control_->add_peer(rank, members[static_cast<std::size_t>(rank)].control);
    }
  }

  std::map<int, std::shared_ptr<Link>> star(const std::string& name) {
    std::map<int, std::shared_ptr<Link>> links;
    if (rank() != 0)
      links[0] = control_->link(0, name);
    else
      for (int other = 1; other < size(); ++other) links[other] = control_->link(other, name);
    return links;
  }

  void watch_over() {
    MembershipOptions watch{.rank = rank(), .interval = options_.heartbeat_interval, .limit = options_.heartbeat_limit};
    watch.describe = [this](int other) { return describe(other); };
    watch.is_far = [this](int other) { return host_of_rank(other) != host_of_rank(rank()); };
    watch.on_returned = [this](int other, const Tensor& member) { come_to_know(other, member); };
    watch.on_gone = [this](int other, const FailurePtr& why) { cut_off(other, why); };
    membership_ = std::make_unique<Membership>(std::move(watch), star("membership"));
    membership_->on_lost(on_lost_);
    agreement_ = std::make_unique<AgreementRound>(
        rank(), star("agreement"), options_.limit, [this] { return lost(); },
        [this](int other) { return gone(other) || membership_->expendable().contains(other); });
  }

  // ---- who comes back

  void open_reception() {
    ReceptionOptions door{.job = options_.job, .agreement = options_.agreement};
    door.bind = binding_of(options_).address + port_of_address(options_.job.rendezvous);
    door.limit = options_.limit;
    door.is_expendable = [this](int other) { return membership_->expendable().contains(other); };
    door.is_gone = [this](int other) { return gone(other); };
    door.members = [this] { return members(); };
    door.make_known = [this](int other, const Member& member) {
      replace(other, member);
      control_->replace_peer(other, member.control);
      membership_->tell_returned(other, tensor_of(member));
    };
    door.is_known = [this](int other) { return membership_->all_know(other); };
    door.admit = [this](int other) {
      membership_->take_back(other, control_->link(other, "membership"));
      announcements_.add_listener(other);
      tell_returned(other);
    };
    door.on_notice = options_.on_notice;
    try {
      reception_ = std::make_unique<Reception>(std::move(door));
    } catch (const Error& error) {
      notice(std::string(error.what()) + ": whoever is lost cannot come back");
    }
  }

  void replace(int other, const Member& member) {
    data_->replace_peer(other, member.data);
    std::lock_guard lock(members_mutex_);
    members_.at(static_cast<std::size_t>(other)) = member;
  }

  void tell_returned(int other) {
    std::vector<std::weak_ptr<const OnReturned>> callbacks;
    {
      std::lock_guard lock(returned_mutex_);
      ++returns_[other];
      callbacks = on_returned_;
    }
    for (const auto& callback : callbacks)
      if (const auto alive = callback.lock()) (*alive)(other);
  }

  static Tensor tensor_of(const Member& member) {
    ByteWriter writer;
    write(writer, member);
    Tensor bytes(Shape{static_cast<std::int64_t>(writer.size())}, DType::uint8);
    std::ranges::copy(writer.view(), bytes.mutable_raw());
    return bytes;
  }

  void come_to_know(int other, const Tensor& bytes) {
    ByteReader reader({bytes.raw(), bytes.bytes()}, "member");
    replace(other, read_member(reader));
    tell_returned(other);
    notice("[cluster] " + describe(other) + " has come back");
  }

  std::vector<Member> members() const {
    std::lock_guard lock(members_mutex_);
    return members_;
  }
  Member member(int rank) const {
    std::lock_guard lock(members_mutex_);
    return members_.at(static_cast<std::size_t>(rank));
  }

  void cut_off(int other, const FailurePtr& why) {
    notice(why->what + "; the others go on");
    data_->fail_peer(other, why);
    if (rank() == 0) control_->fail_peer(other, why);
  }

  void notice(const std::string& line) const {
    if (options_.on_notice) options_.on_notice(line);
  }

  std::string host_of_rank(int rank) const { return member(rank).data.host; }

  std::string describe(int rank) const {
    const auto data = member(rank).data;
    const auto host = host_of(data.tcp);
    return "process " + std::to_string(rank) + " (" + host.substr(host.rfind('/') + 1) +
           (data.pid > 0 ? ", pid " + std::to_string(data.pid) : "") + ")";
  }

  const ClusterOptions options_;
  std::shared_ptr<Endpoint> data_, control_;
  mutable std::mutex members_mutex_, returned_mutex_;
  std::vector<Member> members_;
  std::vector<std::weak_ptr<const OnReturned>> on_returned_;
  std::map<int, int> returns_;  // by rank
  std::set<int> listening_;
  Announcements announcements_{[this](int other) { return control_->link(other, "announcements"); }};
  /// ZeroMQ reports a lost process only where it had a connection. Links to any other lost process fail here.
  const std::shared_ptr<const OnLost> on_lost_ = std::make_shared<const OnLost>([this](const FailurePtr& why) {
    if (why->rank >= 0 && why->rank < size() && why->rank != rank()) data_->fail_peer(why->rank, why);
  });
  std::unique_ptr<Membership> membership_;
  std::unique_ptr<AgreementRound> agreement_;
  std::atomic<std::uint64_t> generations_{0};
  std::unique_ptr<Reception> reception_;
};

}  // namespace

std::shared_ptr<Cluster> join_cluster(ClusterOptions options) {
  return std::make_shared<JoinedCluster>(std::move(options));
}

}  // namespace troupe
