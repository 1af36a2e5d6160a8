#include "troupe/transport/membership/reception.hpp"

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/membership/answer.hpp"

namespace troupe {

namespace {

constexpr std::chrono::milliseconds kLook{50};

}  // namespace

Reception::Reception(ReceptionOptions options) : options_(std::move(options)), lobby_(make_lobby(options_.bind)) {
  thread_ = std::thread([this] { receive_guests(); });
}

Reception::~Reception() {
  stopping_ = true;
  thread_.join();
}

void Reception::receive_guests() {
  while (!stopping_) {
    try {
      if (const auto message = lobby_->receive(std::chrono::steady_clock::now() + kLook)) take(*message);
      for (auto& [rank, guest] : guests_) look_after(rank, guest);
      std::erase_if(guests_, [](const auto& entry) { return entry.second.sender.empty(); });
    } catch (const std::exception& error) {
      notice(error.what());
    }
  }
}

void Reception::take(const Lobby::Message& message) {
  Hello hello;
  try {
    hello = decode_hello(message.bytes);
  } catch (const Error& error) {
    return notice(std::string("somebody came who does not belong here: ") + error.what());
  }
  const auto known = guests_.find(hello.rank);
  if (known != guests_.end() && known->second.sender == message.sender) {
    // It says hello again when it knows all members.
    if (known->second.state == Guest::was_welcomed) known->second.state = Guest::knows_all;
    return;
  }
  const auto reason = objection(hello);
  if (!reason.empty()) return refuse(message.sender, reason);
  guests_[hello.rank] = {message.sender, hello.self, std::chrono::steady_clock::now() + options_.limit};
}

std::string Reception::objection(const Hello& hello) const {
  const auto who = "rank " + std::to_string(hello.rank);
  const auto& job = options_.job;
  if (hello.run_id != job.run_id) return who + " belongs to run '" + hello.run_id + "', this is '" + job.run_id + "'";
  if (hello.world_size != job.world_size)
    return "world size is " + std::to_string(hello.world_size) + " on " + who + " but " +
           std::to_string(job.world_size) + " on rank 0";
  if (!options_.is_expendable(hello.rank)) return "the job has begun, and there is no place for a " + who;
  const auto before = options_.members().at(static_cast<std::size_t>(hello.rank));
  if (before.role != hello.self.role)
    return who + " comes back as " + to_string(hello.self.role) + ", but was " + to_string(before.role);
  return difference(options_.agreement, 0, hello.agreement, hello.rank);
}

void Reception::look_after(int rank, Guest& guest) {
  if (guest.state == Guest::waits && options_.is_gone(rank)) {
    lobby_->answer(guest.sender, encode(Answer{Answer::Kind::welcome, {}, options_.members()}));
    guest.state = Guest::was_welcomed;
  } else if (guest.state == Guest::knows_all) {
    // Not before: what the others sent to it would be that of strangers.
    options_.make_known(rank, guest.member);
    guest.state = Guest::is_announced;
  } else if (guest.state == Guest::is_announced && options_.is_known(rank)) {
    options_.admit(rank);
    lobby_->answer(guest.sender, encode(Answer{Answer::Kind::go}));
    notice("rank " + std::to_string(rank) + " has come back");
    guest.sender.clear();
  } else if (std::chrono::steady_clock::now() > guest.deadline) {
    refuse(guest.sender, guest.state == Guest::waits ? "there is a rank " + std::to_string(rank) + " already"
                                                     : "rank " + std::to_string(rank) + " did not get to know all");
    guest.sender.clear();
  }
}

void Reception::refuse(const std::string& sender, const std::string& reason) {
  lobby_->answer(sender, encode(Answer{Answer::Kind::refused, reason}));
  notice(reason + "; refused");
}

void Reception::notice(const std::string& line) const {
  if (options_.on_notice) options_.on_notice("[cluster] " + line);
}

}  // namespace troupe
