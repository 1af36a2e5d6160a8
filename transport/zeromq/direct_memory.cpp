#include "troupe/transport/zeromq/direct_memory.hpp"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "troupe/transport/payload.hpp"

namespace troupe::zeromq {

namespace {

std::string name_space(const char* kind) {
  struct stat status {};
  if (stat((std::string("/proc/self/ns/") + kind).c_str(), &status) != 0) return "?";
  return std::to_string(status.st_ino);
}

void* pointer(std::uint64_t address) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

/// Copies to.size() bytes from `address` in the memory of process `pid`. Throws PayloadWithdrawn if they cannot be
/// read.
void copy_from(std::int64_t pid, std::uint64_t address, std::span<std::byte> to) {
  const iovec local{to.data(), to.size()};
  const iovec remote{pointer(address), to.size()};
  const auto copied = process_vm_readv(static_cast<pid_t>(pid), &local, 1, &remote, 1, 0);
  if (copied != static_cast<ssize_t>(to.size()))
    throw PayloadWithdrawn("process " + std::to_string(pid) +
                           " cannot be read: " + (copied < 0 ? std::strerror(errno) : "its memory is gone"));
}

}  // namespace

std::string host_identity() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  std::getline(file, boot);
  return boot + "/" + name_space("net") + "/" + name_space("pid") + "/" + std::to_string(geteuid());
}

void allow_memory_reads() {
#ifdef PR_SET_PTRACER
  static const bool done = [] {
    int scope = 0;
    std::ifstream("/proc/sys/kernel/yama/ptrace_scope") >> scope;
    // 1 restricts reads to ancestors. Larger values also forbid the exemption.
    return scope == 1 && prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0) == 0;
  }();
  (void)done;
#endif
}

std::optional<std::int64_t> sending_process(const zmq::message_t& message) {
  const char* const sender = zmq_msg_gets(message.handle(), "Peer-Address");
  unsigned user = 0, group = 0;
  long pid = 0;
  // ZeroMQ appends user, group and process of SO_PEERCRED to the name of a sender over ipc. A sender over TCP has an
  // address without colons.
  if (sender == nullptr || std::sscanf(sender, "localhost:%u:%u:%ld", &user, &group, &pid) != 3) return std::nullopt;
  return user == geteuid() && pid > 0 ? std::optional<std::int64_t>(pid) : std::nullopt;
}

bool has_nonce(std::int64_t pid, std::uint64_t address, std::uint64_t nonce) {
  std::uint64_t value = 0;
  const iovec to{&value, sizeof value};
  const iovec from{pointer(address), sizeof value};
  return process_vm_readv(static_cast<pid_t>(pid), &to, 1, &from, 1, 0) == sizeof value && value == nonce;
}

void read_memory(std::int64_t pid, std::uint64_t from, std::span<std::byte> to, const RemoteGuard& guard) {
  copy_from(pid, from, to);
  // The reader's half of the seqlock in PayloadGuard::withdraw(). One system call for both reads would not suffice: the
  // kernel reads the parts of a call one after the other, but on aarch64 nothing orders these loads. The loads run on
  // the calling thread, so a fence between two calls orders them: if the payload was overwritten before it was read,
  // the guard's word, which is read afterwards, no longer has the valid value.
  std::atomic_thread_fence(std::memory_order_acquire);
  std::uint64_t word = 0;
  copy_from(pid, guard.address, std::as_writable_bytes(std::span(&word, 1)));
  if (word != guard.valid_word) throw PayloadWithdrawn("the sender has withdrawn its payload");
}

}  // namespace troupe::zeromq
