#include "troupe/transport/zeromq/security.hpp"

#include <unistd.h>

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/zeromq/socket.hpp"

namespace troupe::zeromq {

namespace {

/// The characters of a key in Z85, and the final zero byte.
using Z85Key = std::array<char, 41>;
constexpr std::size_t kCurveKeyBytes = 32;
/// ZeroMQ checks proofs only on sockets with a domain.
constexpr const char* kDomain = "troupe";

void expect_curve() {
  if (zmq_has("curve") != 1)
    throw Error("endpoint",
                "this build of ZeroMQ has no CURVE encryption, by which processes prove that they belong to "
                "the job: install a libzmq that is built with libsodium");
}

std::string z85_of(const void* key) {
  Z85Key text{};
  zmq_z85_encode(text.data(), static_cast<const std::uint8_t*>(key), kCurveKeyBytes);
  return text.data();
}

/// The fields of a question (ZAP 1.0), in order, after the version.
enum ProofField : std::size_t { kRequestId = 1, kMechanism = 5, kKeyOrUser = 6, kToken = 7 };

Authenticator::Proof proof_in(const std::vector<std::string>& fields) {
  if (fields.size() == kKeyOrUser + 1 && fields[kMechanism] == "CURVE" && fields[kKeyOrUser].size() == kCurveKeyBytes)
    return {.key = z85_of(fields[kKeyOrUser].data())};
  if (fields.size() == kToken + 1 && fields[kMechanism] == "PLAIN")
    return {.user = fields[kKeyOrUser], .token = fields[kToken]};
  return {};
}

}  // namespace

CurveKeys random_keys() {
  expect_curve();
  Z85Key public_key{}, secret_key{};
  zmq_curve_keypair(public_key.data(), secret_key.data());
  return {public_key.data(), secret_key.data()};
}

CurveKeys keys_of(const Digest& secret) {
  expect_curve();
  const auto secret_key = z85_of(secret.data());
  Z85Key public_key{};
  zmq_curve_public(public_key.data(), secret_key.c_str());
  return {public_key.data(), secret_key};
}

void encrypt_server(zmq::socket_t& socket, const CurveKeys& own) {
  socket.set(zmq::sockopt::curve_server, true);
  socket.set(zmq::sockopt::curve_secretkey, own.secret_key);
  socket.set(zmq::sockopt::zap_domain, kDomain);
}

void encrypt_client(zmq::socket_t& socket, const CurveKeys& own, const std::string& server_key) {
  socket.set(zmq::sockopt::curve_serverkey, server_key);
  socket.set(zmq::sockopt::curve_publickey, own.public_key);
  socket.set(zmq::sockopt::curve_secretkey, own.secret_key);
}

void ask_for_token(zmq::socket_t& socket) {
  socket.set(zmq::sockopt::plain_server, true);
  socket.set(zmq::sockopt::zap_domain, kDomain);
}

void show_token(zmq::socket_t& socket, const std::string& user, const std::string& token) {
  socket.set(zmq::sockopt::plain_username, user);
  socket.set(zmq::sockopt::plain_password, token);
}

std::string token_of(const std::string& key, const std::string& identity) {
  const auto token = hmac_sha256(std::as_bytes(std::span(key)), std::as_bytes(std::span(identity)));
  return z85_of(token.data());
}

void refuse_other_users(zmq::socket_t& socket) {
#ifdef ZMQ_IPC_FILTER_UID
  // ZeroMQ compares the user of SO_PEERCRED when it accepts a connection.
  const uid_t user = geteuid();
  zmq_setsockopt(socket.handle(), ZMQ_IPC_FILTER_UID, &user, sizeof user);
#else
  (void)socket;
#endif
}

Authenticator::Authenticator(zmq::context_t& context, Admits admits)
    : socket_(context, zmq::socket_type::rep), admits_(std::move(admits)) {
  socket_.set(zmq::sockopt::linger, 0);
  socket_.bind("inproc://zeromq.zap.01");
}

void Authenticator::answer() {
  zmq::message_t part;
  while (try_receive(socket_, part)) {
    std::vector<std::string> fields{part.to_string()};
    while (part.more() && try_receive(socket_, part)) fields.push_back(part.to_string());
    if (fields.size() <= kKeyOrUser) fields.resize(kKeyOrUser + 1);
    const auto proof = proof_in(fields);
    // Status 300 closes the connection, and the client tries again. Status 400 would end a client for good.
    const std::string status = admits_(proof) ? "200" : "300";
    const std::array<std::string, 6> reply{"1.0", fields[kRequestId], status, "", proof.user, ""};
    for (std::size_t i = 0; i < reply.size(); ++i) {
      zmq::message_t field(reply[i].data(), reply[i].size());
      (void)try_send(socket_, field, i + 1 < reply.size() ? zmq::send_flags::sndmore : zmq::send_flags::none);
    }
  }
}

}  // namespace troupe::zeromq
