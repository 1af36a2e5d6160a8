#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>
#include <zmq.hpp>

namespace troupe::zeromq {

/// The most packets to one peer that are sent and not yet acknowledged.
inline constexpr int kWindow = 16;

/// Makes malloc keep the memory of freed messages, up to 64 MiB per receiving thread, instead of returning it to the
/// kernel and faulting in new pages for the next messages, which costs a third of a network's throughput. ZeroMQ
/// allocates its messages by malloc, so this sets M_MMAP_THRESHOLD and M_TRIM_THRESHOLD for the whole process, to the
/// values that glibc itself reaches once a block of 32 MiB was freed. Changes nothing if the environment sets options
/// of malloc (see mallopt(3)), or with other C libraries than glibc.
void keep_message_memory();

zmq::context_t make_context();

/// All sockets are made here, and every option is set before a socket is bound or connected. Keys of an encrypted
/// connection would be set here.
/// Receives from any number of senders, and answers them. Sending to one that has disconnected throws zmq::error_t.
zmq::socket_t make_receiver(zmq::context_t& context);
/// Sends to one receiver that knows this endpoint by `identity`.
zmq::socket_t make_sender(zmq::context_t& context, const std::string& identity);
/// Sends to a receiver that does not know the sender, and gets its answers.
zmq::socket_t make_client(zmq::context_t& context);

/// Reports the connects and the errors of a socket on another socket. `name` is unique in the context.
zmq::socket_t watch(zmq::context_t& context, zmq::socket_t& socket, const std::string& name);

/// The next event, ZMQ_EVENT_..., of a socket made by watch(), without waiting. Nothing if there is none.
std::optional<int> next_event(zmq::socket_t& monitor);

/// The bytes of a message, which must live as long.
std::span<const std::byte> bytes_of(const zmq::message_t& message);

/// Receives the parts that remain of a message, of which `more` tells whether there are any. Returns the first three;
/// further ones are dropped, so that a malformed message takes no memory.
std::vector<zmq::message_t> receive_rest(zmq::socket_t& socket, bool more);

}  // namespace troupe::zeromq
