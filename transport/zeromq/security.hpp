#pragma once

#include <functional>
#include <string>
#include <zmq.hpp>

#include "troupe/transport/sha256.hpp"

// Proofs that ZeroMQ checks before it accepts the first message of a connection. A connection without the proof is
// closed during its handshake, so it reaches no queue.

namespace troupe::zeromq {

/// A key pair of CURVE (Curve25519), each key as 40 characters of Z85.
struct CurveKeys {
  std::string public_key, secret_key;
};

/// Returns a random key pair. Throws Error if ZeroMQ was built without CURVE.
CurveKeys random_keys();
/// Returns the pair whose secret key is `secret`. Throws Error if ZeroMQ was built without CURVE.
CurveKeys keys_of(const Digest& secret);

// The functions below set options of a socket, and are called before the socket is bound or connected. All connections
// of an encrypting socket use CURVE, those of the others PLAIN.

/// Makes a socket accept encrypted connections, from clients that Authenticator admits.
void encrypt_server(zmq::socket_t& socket, const CurveKeys& own);
/// Makes a socket connect encrypted to the process with that public key, and to no other process.
void encrypt_client(zmq::socket_t& socket, const CurveKeys& own, const std::string& server_key);
/// Makes a socket accept connections with a user name and a password that Authenticator admits.
void ask_for_token(zmq::socket_t& socket);
/// Makes a socket connect with a user name and a password.
void show_token(zmq::socket_t& socket, const std::string& user, const std::string& token);
/// Returns the token with which the sender of that identity connects to the endpoint that has the address key `key`.
std::string token_of(const std::string& key, const std::string& identity);
/// Makes a socket accept connections to its ipc addresses from processes of this user alone.
void refuse_other_users(zmq::socket_t& socket);

/// Answers for all sockets of a ZeroMQ context whether a connecting process is admitted (ZAP, RFC 27). Used by one
/// thread.
class Authenticator {
 public:
  /// The proof of a connecting process: its public key (Z85) on a socket of encrypt_server(), else user and token.
  struct Proof {
    std::string key, user, token;
  };
  using Admits = std::function<bool(const Proof&)>;

  /// Must be made before the sockets of the context. A refused process may try again.
  Authenticator(zmq::context_t& context, Admits admits);

  /// The socket on which ZeroMQ asks; call answer() when it can be read.
  zmq::socket_t& socket() { return socket_; }
  /// Answers all waiting questions. Does not wait.
  void answer();

 private:
  zmq::socket_t socket_;
  const Admits admits_;
};

}  // namespace troupe::zeromq
