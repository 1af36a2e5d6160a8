#include "troupe/transport/membership/readmission.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/signals_blocked.hpp"

namespace troupe {

namespace {

/// The longest time between two rounds in which the thread of Readmission calls advance() for every newcomer.
constexpr std::chrono::milliseconds kAdvanceInterval{50};

}  // namespace

Readmission::Readmission(ReadmissionOptions options, const Membership& membership)
    : options_(std::move(options)),
      membership_(membership),
      acceptor_(make_acceptor(options_.rendezvous.bind, options_.rendezvous.secret->find().value(),
                              static_cast<std::size_t>(options_.rendezvous.job.world_size),
                              options_.rendezvous.silence_limit, [this](const auto& line) { stranger(line); })) {
  const SignalsBlocked blocked;
  thread_ = std::thread([this] { run(); });
}

Readmission::~Readmission() {
  stopping_ = true;
  thread_.join();
}

void Readmission::run() {
  while (!stopping_) {
    try {
      if (const auto message = acceptor_->receive(std::chrono::steady_clock::now() + kAdvanceInterval)) take(*message);
      for (auto& [rank, newcomer] : newcomers_) advance(rank, newcomer);
      std::erase_if(newcomers_, [](const auto& entry) { return entry.second.sender.empty(); });
    } catch (const std::exception& error) {
      notice(error.what());
    }
  }
}

void Readmission::take(const Acceptor::Message& message) {
  Hello hello;
  try {
    hello = decode_hello(message.bytes);
  } catch (const Error& error) {
    return stranger(foreign_notice(error.what()));
  }
  const auto earlier = newcomers_.find(hello.rank);
  if (earlier != newcomers_.end() && earlier->second.sender == message.sender) {
    // A second HELLO on the same connection confirms that the newcomer has the members.
    if (earlier->second.state != Newcomer::welcomed) return;
    earlier->second.state = Newcomer::connected;
    earlier->second.reach_deadline = std::chrono::steady_clock::now() + kReachLimit;
    return;
  }
  const auto reason = objection(hello);
  if (!reason.empty()) return refuse(message.sender, reason);
  newcomers_[hello.rank] = {message.sender, hello.self, std::chrono::steady_clock::now() + options_.rendezvous.limit};
}

std::string Readmission::objection(const Hello& hello) const {
  if (auto reason = run_id_objection(options_.rendezvous.job, hello); !reason.empty()) return reason;
  if (auto reason = world_size_objection(options_.rendezvous.job, hello); !reason.empty()) return reason;
  const auto name = "rank " + std::to_string(hello.rank);
  if (!membership_.expendable().contains(hello.rank)) return "the job has begun, and " + name + " is not expendable";
  const auto previous = options_.members().at(static_cast<std::size_t>(hello.rank));
  if (previous.role != hello.self.role)
    return name + " comes back as " + to_string(hello.self.role) + ", but was " + to_string(previous.role);
  return difference(options_.rendezvous.agreement, 0, hello.agreement, hello.rank);
}

void Readmission::advance(int rank, Newcomer& newcomer) {
  if (newcomer.state == Newcomer::waiting && membership_.gone(rank)) {
    // Before the welcome, after which the newcomer connects to rank 0.
    options_.replace(rank, newcomer.member);
    acceptor_->answer(newcomer.sender, encode(Answer{Answer::Kind::welcome, {}, options_.members()}));
    newcomer.state = Newcomer::welcomed;
  } else if (newcomer.state == Newcomer::connected) {
    // Announces the newcomer only after it has confirmed that it has the members: it would drop messages of ranks that
    // it does not know yet.
    // Does not wait, because this thread also serves the other newcomers.
    const auto contact = options_.rendezvous.reach(rank, std::chrono::milliseconds(0));
    if (contact == Contact::accepted) {
      options_.announce(rank, newcomer.member);
      newcomer.state = Newcomer::announced;
    } else if (contact == Contact::failed ||
               std::chrono::steady_clock::now() > std::min(newcomer.deadline, newcomer.reach_deadline)) {
      refuse(newcomer.sender, unreachable_objection(rank, newcomer.member, 0));
      newcomer.sender.clear();
    }
  } else if (newcomer.state == Newcomer::announced && membership_.all_confirmed(rank)) {
    options_.admit(rank);
    acceptor_->answer(newcomer.sender, encode(Answer{Answer::Kind::go}));
    notice("rank " + std::to_string(rank) + " has come back");
    newcomer.sender.clear();
  } else if (std::chrono::steady_clock::now() > newcomer.deadline) {
    const auto name = "rank " + std::to_string(rank);
    refuse(newcomer.sender, newcomer.state == Newcomer::waiting
                                ? taken_objection(options_.rendezvous.job, rank)
                                : name + " or another rank did not confirm the addresses in time");
    newcomer.sender.clear();
  }
}

void Readmission::refuse(const std::string& sender, const std::string& reason) {
  acceptor_->answer(sender, encode(Answer{Answer::Kind::refused, reason}));
  notice(reason + "; refused");
}

void Readmission::stranger(const std::string& line) const {
  if (options_.rendezvous.on_stranger) options_.rendezvous.on_stranger("[cluster] " + line);
}

void Readmission::notice(const std::string& line) const {
  if (options_.rendezvous.on_notice) options_.rendezvous.on_notice("[cluster] " + line);
}

}  // namespace troupe
