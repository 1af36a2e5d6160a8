#include "troupe/transport/membership/rendezvous.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/acceptor.hpp"
#include "troupe/transport/membership/rendezvous_messages.hpp"

namespace troupe {

namespace {

/// How long rank 0, after the rendezvous has failed, sends the reason to ranks that are still expected.
constexpr std::chrono::seconds kRefusalTime{2};
/// The interval at which a rank that waits looks whether the ranks that have come are still there.
constexpr std::chrono::milliseconds kLookInterval{250};
constexpr const char* kLostWhileJoining = "has died or was cut off before all ranks had joined";

std::vector<std::byte> refusal(const std::string& reason) {
  return encode(Answer{Answer::Kind::refused, reason});
}

std::string seconds(std::chrono::milliseconds limit) {
  auto text = std::to_string(static_cast<double>(limit.count()) / 1000.0);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + " s";
}

/// Connects to a rank, and calls `look` while the connection is pending. Returns whether the rank has accepted it.
bool reaches(const RendezvousOptions& options, int rank, const std::function<void()>& look) {
  const auto deadline =
      std::chrono::steady_clock::now() + std::min<std::chrono::milliseconds>(options.limit, kReachLimit);
  while (std::chrono::steady_clock::now() < deadline) {
    const auto contact = options.reach(rank, kLookInterval);
    if (contact == Contact::accepted) return true;
    look();
    if (contact == Contact::failed) return false;
  }
  return false;
}

/// Rank 0's side of the rendezvous: receives the HELLO of every other rank and answers with the members of the job.
class Host {
 public:
  explicit Host(const RendezvousOptions& options)
      : options_(options),
        deadline_(std::chrono::steady_clock::now() + options.limit),
        acceptor_(make_acceptor(options.bind, options.secret->find().value(),
                                static_cast<std::size_t>(options.job.world_size), options.silence_limit,
                                [this](const auto& line) { stranger(line); })),
        members_(static_cast<std::size_t>(options.job.world_size)) {
    members_[0] = options.self;
    options.secret->publish();
  }

  std::vector<Member> gather(const OnMembers& know) {
    while (static_cast<int>(senders_.size()) + 1 < options_.job.world_size) admit(next());
    know(members_);
    for (const auto& [rank, sender] : senders_)
      acceptor_->answer(sender, encode(Answer{Answer::Kind::welcome, {}, members_}));
    // Every other rank sends its HELLO a second time, which confirms that it has the members.
    arrived_.clear();
    while (arrived_.size() < senders_.size()) {
      const auto message = next();
      for (const auto& [rank, sender] : senders_)
        if (sender == message.sender && arrived_.insert(rank).second) connect_to(rank);
    }
    for (const auto& [rank, sender] : senders_) acceptor_->answer(sender, encode(Answer{Answer::Kind::go}));
    return members_;
  }

 private:
  Acceptor::Message next() {
    while (true) {
      if (std::chrono::steady_clock::now() >= next_look_) look_for_losses();
      if (auto message = acceptor_->receive(std::min(deadline_, next_look_))) return std::move(*message);
      if (std::chrono::steady_clock::now() >= deadline_)
        end_with("rank " + expected() + " of " + std::to_string(options_.job.world_size) + " has not come to " +
                 options_.job.rendezvous + " within " + seconds(options_.limit));
    }
  }

  /// Connects to a rank at the addresses of its member. Ends the rendezvous if that fails.
  void connect_to(int rank) {
    if (!reaches(options_, rank, [this] { look_for_losses(); }))
      end_with(unreachable_objection(rank, members_[static_cast<std::size_t>(rank)], 0));
  }

  /// Ends the rendezvous if a rank that has come is not reached any more.
  void look_for_losses() {
    next_look_ = std::chrono::steady_clock::now() + kLookInterval;
    for (const auto& [rank, sender] : senders_)
      if (!acceptor_->reaches(sender)) end_with("rank " + std::to_string(rank) + " " + kLostWhileJoining);
  }

  /// Records the HELLO of a rank. Reports and drops a message that is no HELLO. Refuses a process of another run, and
  /// one whose rank is taken or does not exist. Ends the rendezvous if the process belongs to the run but differs in
  /// world size or agreement.
  void admit(const Acceptor::Message& message) {
    Hello hello;
    try {
      hello = decode_hello(message.bytes);
    } catch (const Error& error) {
      return stranger(foreign_notice(error.what()));
    }
    if (const auto reason = run_id_objection(options_.job, hello); !reason.empty())
      return refuse(message.sender, reason);
    if (const auto reason = world_size_objection(options_.job, hello); !reason.empty())
      return end_with(reason, message.sender);
    const auto name = "rank " + std::to_string(hello.rank);
    if (hello.rank < 1 || hello.rank >= options_.job.world_size)
      return refuse(message.sender,
                    hello.rank == 0 ? taken_objection(options_.job, 0) : "there is no " + name + " in this job");
    if (senders_.contains(hello.rank)) return refuse(message.sender, taken_objection(options_.job, hello.rank));
    const auto reason = difference(options_.agreement, 0, hello.agreement, hello.rank);
    if (!reason.empty()) return end_with(reason, message.sender);
    members_[static_cast<std::size_t>(hello.rank)] = hello.self;
    senders_[hello.rank] = message.sender;
    arrived_.insert(hello.rank);
  }

  /// Sends `reason` to a process that cannot join, and reports it to on_notice. The job goes on without this process.
  void refuse(const std::string& sender, const std::string& reason) {
    acceptor_->answer(sender, refusal(reason));
    notice(reason + "; refused");
  }

  /// Ends the rendezvous: sends the reason to `sender`, if any, to all ranks that have come, and to ranks that come
  /// within kRefusalTime, and throws the reason as Error.
  [[noreturn]] void end_with(const std::string& reason, const std::string& sender = {}) {
    if (!sender.empty()) acceptor_->answer(sender, refusal(reason));
    for (const auto& [rank, other] : senders_) acceptor_->answer(other, refusal(reason));
    refuse_expected(reason);
    throw Error("rendezvous", reason);
  }

  /// Refuses ranks that come within kRefusalTime. Without an answer these ranks would wait until their limit.
  void refuse_expected(const std::string& reason) {
    const auto deadline = std::min(deadline_, std::chrono::steady_clock::now() + kRefusalTime);
    auto remaining = options_.job.world_size - 2 - static_cast<int>(senders_.size());
    while (remaining-- > 0)
      if (const auto message = acceptor_->receive(deadline)) acceptor_->answer(message->sender, refusal(reason));
  }

  void notice(const std::string& line) const {
    if (options_.on_notice) options_.on_notice("[rendezvous] " + line);
  }

  void stranger(const std::string& line) const {
    if (options_.on_stranger) options_.on_stranger("[rendezvous] " + line);
  }

  /// Returns the ranks that are still expected, as `1, 3`.
  std::string expected() const {
    std::string ranks;
    for (int rank = 1; rank < options_.job.world_size; ++rank)
      if (!arrived_.contains(rank)) ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
    return ranks;
  }

  const RendezvousOptions& options_;
  const Acceptor::Deadline deadline_;
  std::chrono::steady_clock::time_point next_look_{};
  std::unique_ptr<Acceptor> acceptor_;
  std::vector<Member> members_;
  std::map<int, std::string> senders_;  // Message::sender of the HELLO, by rank
  std::set<int> arrived_;               // ranks whose current HELLO, the first or the second, has come
};

/// The side of a rank other than 0: its connection to rank 0.
class Guest {
 public:
  explicit Guest(const RendezvousOptions& options)
      : options_(options),
        // Rank 0 gives up at its limit and sends the reason. The deadline here is half a second later, so that the
        // reason arrives.
        deadline_(std::chrono::steady_clock::now() + options.limit + std::chrono::milliseconds(500)),
        hello_(encode(
            Hello{options.job.run_id, options.job.rank, options.job.world_size, options.agreement, options.self})) {}

  /// Sends the HELLO to rank 0 and returns the members of the job.
  std::vector<Member> join(const OnMembers& know) {
    auto members = checked(welcome(), Answer::Kind::welcome).members;
    const auto world_size = options_.job.world_size;
    if (members.size() != static_cast<std::size_t>(world_size))
      throw Error("rendezvous", "rank 0 lists " + std::to_string(members.size()) + " members, but the world size is " +
                                    std::to_string(world_size));
    know(members);
    if (!reaches(options_, 0, [this] { look_for_end(); }))
      throw Error("rendezvous", unreachable_objection(0, members[0], options_.job.rank));
    client_->send(hello_);
    const auto go = answer_before(deadline_);
    if (!go) give_up("does not answer within " + seconds(options_.limit));
    checked(*go, Answer::Kind::go);
    return members;
  }

 private:
  /// Returns the first answer of rank 0. Connects with the secret as soon as it is found, and again when another one is
  /// found in its place: the first may be that of an earlier job.
  std::vector<std::byte> welcome() {
    constexpr std::chrono::milliseconds kSecretInterval{20};
    std::optional<Secret> secret;
    while (std::chrono::steady_clock::now() < deadline_) {
      const auto newest = options_.secret->find();
      if (newest && newest != secret) {
        // Rank 0 listens before it leaves the secret. A secret that was there before may be that of an earlier job, or
        // is given: rank 0 may not listen yet.
        client_ = connect_to_acceptor("tcp://" + options_.job.rendezvous, *newest, options_.silence_limit,
                                      options_.secret->is_new(*newest));
        client_->send(hello_);
        secret = newest;
      }
      const auto next_look = std::min(deadline_, std::chrono::steady_clock::now() + kSecretInterval);
      if (!client_)
        std::this_thread::sleep_until(next_look);
      else if (auto answer = answer_before(next_look))
        return std::move(*answer);
    }
    give_up("does not answer within " + seconds(options_.limit) + reason_for_silence());
  }

  /// Returns the next answer of rank 0, or nothing if none comes before `deadline`. Throws Error if rank 0 is lost.
  std::optional<std::vector<std::byte>> answer_before(Acceptor::Deadline deadline) {
    auto answer = client_->receive(deadline);
    if (!answer && client_->is_cut_off()) give_up(kLostWhileJoining);
    if (!answer && client_->is_deserted())
      give_up("does not listen any more: it has died or was cut off, or has begun its job with another rank " +
              std::to_string(options_.job.rank));
    return answer;
  }

  /// Throws Error if rank 0 has ended the rendezvous or is lost. Does not wait.
  void look_for_end() {
    if (const auto answer = answer_before(std::chrono::steady_clock::now())) checked(*answer, Answer::Kind::refused);
  }

  std::string reason_for_silence() const {
    if (!client_)
      return ": it has not left the secret of the job in " + options_.secret->path() +
             ", as it does once it listens. If it is on another machine or belongs to another user, give all processes "
             "--secret-file or " +
             kSecretVariable;
    if (client_->was_refused()) return ": a process listens there, but has another secret, or is no rank 0 of a job";
    return ", or not all ranks have come";
  }

  [[noreturn]] void give_up(const std::string& why) const {
    throw Error("rendezvous", "rank 0 at " + options_.job.rendezvous + " " + why);
  }

  /// Decodes an answer of rank 0. Throws Error if it is a refusal or of another kind than `kind`.
  Answer checked(std::span<const std::byte> bytes, Answer::Kind kind) const {
    Answer answer;
    try {
      answer = decode_answer(bytes);
    } catch (const Error& error) {
      throw Error("rendezvous", "the process that answers at " + options_.job.rendezvous +
                                    " is not rank 0 of a job: " + error.what());
    }
    if (answer.kind == Answer::Kind::refused) throw Error("rendezvous", answer.reason);
    if (answer.kind != kind) give_up("sent an answer of another kind than expected");
    return answer;
  }

  const RendezvousOptions& options_;
  const Acceptor::Deadline deadline_;
  const std::vector<std::byte> hello_;
  std::unique_ptr<AcceptorClient> client_;
};

}  // namespace

std::vector<Member> rendezvous(const RendezvousOptions& options, const OnMembers& know) {
  if (options.job.world_size == 1) return {options.self};
  return options.job.rank == 0 ? Host(options).gather(know) : Guest(options).join(know);
}

}  // namespace troupe
