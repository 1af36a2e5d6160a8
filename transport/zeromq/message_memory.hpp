#pragma once

namespace troupe::zeromq {

/// Makes malloc keep the memory of freed messages, up to 64 MiB per receiving thread, instead of returning it to the
/// kernel and faulting in new pages for the next messages, which costs a third of a network's throughput. ZeroMQ
/// allocates its messages by malloc, so this sets M_MMAP_THRESHOLD and M_TRIM_THRESHOLD for the whole process, to the
/// values that glibc itself reaches once a block of 32 MiB was freed. Changes nothing if the environment sets options
/// of malloc (see mallopt(3)), or with other C libraries than glibc.
void keep_message_memory();

}  // namespace troupe::zeromq
