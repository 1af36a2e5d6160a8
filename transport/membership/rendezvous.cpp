#include "troupe/transport/membership/rendezvous.hpp"

#include <map>
#include <set>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/lobby.hpp"
#include "troupe/transport/membership/answer.hpp"

namespace troupe {

namespace {

constexpr std::chrono::seconds kLatecomers{2};

std::vector<std::byte> refusal(const std::string& reason) {
  return encode(Answer{Answer::Kind::refused, reason});
}

std::string seconds(std::chrono::milliseconds limit) {
  auto text = std::to_string(static_cast<double>(limit.count()) / 1000.0);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + " s";
}

/// Rank 0's side.
class Host {
 public:
  explicit Host(const RendezvousOptions& options)
      : options_(options),
        deadline_(std::chrono::steady_clock::now() + options.limit),
        lobby_(make_lobby(options.bind)),
        members_(static_cast<std::size_t>(options.job.world_size)) {
    members_[0] = options.self;
  }

  std::vector<Member> gather(const std::function<void(const std::vector<Member>&)>& know) {
    while (static_cast<int>(guests_.size()) + 1 < options_.job.world_size) admit(next());
    know(members_);
    for (const auto& [rank, sender] : guests_)
      lobby_->answer(sender, encode(Answer{Answer::Kind::welcome, {}, members_}));
    const auto waited_for = std::exchange(present_, {});
    while (present_.size() < waited_for.size())
      if (const auto rank = rank_of(next().sender)) present_.insert(*rank);
    for (const auto& [rank, sender] : guests_) lobby_->answer(sender, encode(Answer{Answer::Kind::go}));
    return members_;
  }

 private:
  Lobby::Message next() {
    auto message = lobby_->receive(deadline_);
    if (!message)
      end_with("rank " + missing() + " of " + std::to_string(options_.job.world_size) + " has not come to " +
               options_.job.rendezvous + " within " + seconds(options_.limit));
    return std::move(*message);
  }

  void admit(const Lobby::Message& message) {
    Hello hello;
    try {
      hello = decode_hello(message.bytes);
    } catch (const Error& error) {
      return notice(std::string("somebody came who does not belong here: ") + error.what());
    }
    const auto who = "rank " + std::to_string(hello.rank);
    if (hello.run_id != options_.job.run_id)
      return refuse(message.sender,
                    who + " belongs to run '" + hello.run_id + "', this is '" + options_.job.run_id + "'");
    if (hello.world_size != options_.job.world_size)
      return end_with("world size is " + std::to_string(hello.world_size) + " on " + who + " but " +
                          std::to_string(options_.job.world_size) + " on rank 0",
                      message.sender);
    if (hello.rank < 1 || hello.rank >= options_.job.world_size)
      return refuse(message.sender, hello.rank == 0 ? "there is a rank 0 already" : "there is no " + who);
    if (guests_.contains(hello.rank)) return refuse(message.sender, "there is a " + who + " already");
    const auto differs = difference(options_.agreement, 0, hello.agreement, hello.rank);
    if (!differs.empty()) return end_with(differs, message.sender);
    members_[static_cast<std::size_t>(hello.rank)] = hello.self;
    guests_[hello.rank] = message.sender;
    present_.insert(hello.rank);
  }

  /// Somebody else's process, or one too many: the job goes on without it.
  void refuse(const std::string& sender, const std::string& reason) {
    lobby_->answer(sender, refusal(reason));
    notice(reason + "; refused");
  }

  /// The job cannot begin: all who are here learn why.
  [[noreturn]] void end_with(const std::string& reason, const std::string& sender = {}) {
    if (!sender.empty()) lobby_->answer(sender, refusal(reason));
    for (const auto& [rank, guest] : guests_) lobby_->answer(guest, refusal(reason));
    refuse_latecomers(reason);
    throw Error("rendezvous", reason);
  }

  /// Whoever is just about to come would wait in vain.
  void refuse_latecomers(const std::string& reason) {
    const auto deadline = std::min(deadline_, std::chrono::steady_clock::now() + kLatecomers);
    auto expected = options_.job.world_size - 2 - static_cast<int>(guests_.size());
    while (expected-- > 0)
      if (const auto message = lobby_->receive(deadline)) lobby_->answer(message->sender, refusal(reason));
  }

  void notice(const std::string& line) const {
    if (options_.on_notice) options_.on_notice("[rendezvous] " + line);
  }

  std::optional<int> rank_of(const std::string& sender) const {
    for (const auto& [rank, guest] : guests_)
      if (guest == sender) return rank;
    return std::nullopt;
  }

  std::string missing() const {
    std::string ranks;
    for (int rank = 1; rank < options_.job.world_size; ++rank)
      if (!present_.contains(rank)) ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
    return ranks;
  }

  const RendezvousOptions& options_;
  const Lobby::Deadline deadline_;
  std::unique_ptr<Lobby> lobby_;
  std::vector<Member> members_;
  std::map<int, std::string> guests_;
  /// Ranks that have said hello, and then those that have confirmed the answer.
  std::set<int> present_;
};

Answer decoded(const std::vector<std::byte>& bytes, const std::string& from) {
  try {
    return decode_answer(bytes);
  } catch (const Error& error) {
    throw Error("rendezvous", "what answers at " + from + " is no rank 0: " + error.what());
  }
}

/// What rank 0 has answered. Throws Error if it has refused, or nothing comes in time.
Answer next_answer(LobbyVisit& visit, Lobby::Deadline deadline, const RendezvousOptions& options, Answer::Kind wanted) {
  const auto bytes = visit.receive(deadline);
  if (!bytes)
    throw Error("rendezvous", "rank 0 at " + options.job.rendezvous + " does not answer within " +
                                  seconds(options.limit) +
                                  (wanted == Answer::Kind::welcome ? ", or not all ranks have come" : ""));
  auto answer = decoded(*bytes, options.job.rendezvous);
  if (answer.kind == Answer::Kind::refused) throw Error("rendezvous", answer.reason);
  if (answer.kind != wanted)
    throw Error("rendezvous", "rank 0 at " + options.job.rendezvous + " answers what was not asked");
  return answer;
}

std::vector<Member> visit(const RendezvousOptions& options,
                          const std::function<void(const std::vector<Member>&)>& know) {
  // Rank 0 tells those who wait why it gives up; a little later than its limit nobody will.
  const auto deadline = std::chrono::steady_clock::now() + options.limit + std::chrono::milliseconds(500);
  const auto lobby = visit_lobby("tcp://" + options.job.rendezvous);
  const auto& job = options.job;
  const auto hello = encode(Hello{job.run_id, job.rank, job.world_size, options.agreement, options.self});
  lobby->send(hello);
  auto members = next_answer(*lobby, deadline, options, Answer::Kind::welcome).members;
  if (members.size() != static_cast<std::size_t>(job.world_size))
    throw Error("rendezvous", "rank 0 lists " + std::to_string(members.size()) + " members");
  know(members);
  lobby->send(hello);
  next_answer(*lobby, deadline, options, Answer::Kind::go);
  return members;
}

}  // namespace

std::vector<Member> rendezvous(const RendezvousOptions& options,
                               const std::function<void(const std::vector<Member>&)>& know) {
  if (options.job.world_size == 1) return {options.self};
  return options.job.rank == 0 ? Host(options).gather(know) : visit(options, know);
}

}  // namespace troupe
