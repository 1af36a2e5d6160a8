#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <vector>
#include <zmq.hpp>

namespace troupe::zeromq {

/// The largest number of packets to one peer that are sent and not yet acknowledged.
inline constexpr int kWindow = 16;
/// The largest number of bytes that CURVE adds to a message: a nonce, a tag and its own header.
inline constexpr std::size_t kEncryptionBytes = 64;

/// Makes malloc keep up to 64 MiB of freed memory per receiving thread. By default glibc returns the memory of freed
/// messages to the kernel and faults in new pages for the next messages, which costs a third of a network's throughput.
/// ZeroMQ allocates its messages by malloc, so this sets M_MMAP_THRESHOLD and M_TRIM_THRESHOLD for the whole process,
/// to the values that glibc itself chooses once a block of 32 MiB was freed. Changes nothing if the environment sets
/// options of malloc (see mallopt(3)), or with other C libraries than glibc.
void keep_message_memory();

/// Makes a context with one I/O thread. Throws Error if too few file descriptors are left for it and a few sockets.
zmq::context_t make_context();

/// Makes a socket that receives from any number of senders, message parts of up to `max_bytes` bytes, and can answer
/// them. Sending to a sender that has disconnected throws zmq::error_t. make_receiver(), make_sender() and
/// make_client() make all sockets that connect processes, and set every option before the socket is bound or connected.
zmq::socket_t make_receiver(zmq::context_t& context, std::size_t max_bytes);
/// Makes a socket that sends to one receiver, which identifies this endpoint by `identity`.
zmq::socket_t make_sender(zmq::context_t& context, const std::string& identity);
/// Makes a socket without an identity of its own, which sends to one receiver and receives the answers of that
/// receiver.
zmq::socket_t make_client(zmq::context_t& context);

/// Makes ZeroMQ end a connection of the socket over which nothing has arrived for longer than `silence_limit`; both
/// ends send signs of life. Call it before the socket is bound or connected.
void keep_alive(zmq::socket_t& socket, std::chrono::milliseconds silence_limit);

/// try_send() and try_receive() do not wait: they return false if ZeroMQ cannot take or give a message part now. A
/// signal that interrupts them does not count. They throw zmq::error_t for other errors.
bool try_send(zmq::socket_t& socket, zmq::message_t& part, zmq::send_flags flags);
bool try_receive(zmq::socket_t& socket, zmq::message_t& part);
/// Waits until an item has an event, at most for `limit`. Returns the number of items with events: 0 after the limit,
/// or if a signal has interrupted the wait.
std::size_t poll_items(std::vector<zmq::pollitem_t>& items, std::chrono::milliseconds limit);

/// Returns a view of the bytes of a message; `message` must outlive it.
std::span<const std::byte> bytes_of(const zmq::message_t& message);

/// Receives the remaining parts of a message of which the first part was received; `more` is whether the message has
/// further parts. Returns the first three of them and drops the others, so that a malformed message takes little
/// memory.
std::vector<zmq::message_t> receive_rest(zmq::socket_t& socket, bool more);

}  // namespace troupe::zeromq
