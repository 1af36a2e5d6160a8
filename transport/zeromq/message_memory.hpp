#pragma once

namespace troupe::zeromq {

/// Lets this process keep the memory of messages that were freed, up to 64 MiB a thread that receives, instead of
/// giving it back to the kernel and taking new pages for the next ones, which costs a third of a network's throughput.
/// ZeroMQ takes its messages from malloc, so these are settings of malloc, for the whole process: those that glibc
/// comes to by itself once a block of 32 MiB was freed. They stay as they are where the environment sets any (see
/// mallopt(3)), and with other C libraries.
void keep_message_memory();

}  // namespace troupe::zeromq
