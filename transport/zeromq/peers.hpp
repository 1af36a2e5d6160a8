#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "troupe/transport/zeromq/assembly.hpp"
#include "troupe/transport/zeromq/channel.hpp"
#include "troupe/transport/zeromq/connection.hpp"

namespace troupe::zeromq {

/// Another endpoint: the connection to it, once it is needed, and the links over it.
struct Peer {
  int number = 0;
  EndpointAddress address;
  std::shared_ptr<Connection> connection;
  std::unique_ptr<Assembly> assembly;  // used by the courier alone
  std::map<std::uint64_t, std::shared_ptr<Channel>> channels;
  std::set<std::uint64_t> closed_there;
};

/// The endpoints that one knows. They stay until its end. Thread-safe.
class Peers {
 public:
  /// `own` is this endpoint's address; `on_connection` is called, with a lock held, when there is a new connection.
  Peers(zmq::context_t& context, const EndpointOptions& options, const EndpointAddress& own,
        std::function<void()> on_connection)
      : context_(context), options_(options), own_(own), on_connection_(std::move(on_connection)) {}

  /// Throws Error if the number is known.
  void add(int number, const EndpointAddress& address);
  /// Whoever had the number has failed, and has it no more.
  void replace(int number, const EndpointAddress& address);
  /// Throws Error if there is no such peer, or a link to it of that name.
  std::shared_ptr<Link> link(int number, const std::string& name);

  /// Null if there is none. The one that has sent is answered: it is connected from now on.
  Peer* find(int number);
  Peer* sender(const std::string& identity);
  std::shared_ptr<Channel> channel(Peer& peer, std::uint64_t id);
  std::vector<Peer*> connected();
  bool drained();

  /// The peer has closed its end of a link.
  void closed_there(Peer& peer, std::uint64_t id);
  /// The peer, or every peer, is lost to this endpoint. Called without a lock: whoever is told may come back.
  void fail(Peer& peer, const FailurePtr& cause);
  void end(const FailurePtr& cause);

 private:
  void connect(Peer& peer);
  std::shared_ptr<Channel>& find_or_make(Peer& peer, std::uint64_t id);

  zmq::context_t& context_;
  const EndpointOptions& options_;
  const EndpointAddress& own_;
  const std::function<void()> on_connection_;
  std::mutex mutex_;
  std::map<int, std::unique_ptr<Peer>> peers_;
  std::vector<std::unique_ptr<Peer>> replaced_;  // links may still hold their connections
  std::map<std::string, Peer*> by_identity_;
  std::set<std::pair<int, std::uint64_t>> linked_;
};

}  // namespace troupe::zeromq
