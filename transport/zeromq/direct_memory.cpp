#include "troupe/transport/zeromq/direct_memory.hpp"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <random>

#include "troupe/transport/payload.hpp"

namespace troupe::zeromq {

namespace {

/// Returns the probe: a random number in the memory of this process. Other processes receive its address and value; a
/// process that reads this value at this address can read the memory of this process.
std::uint64_t& probe() {
  static std::uint64_t value = [] {
    std::random_device random;
    return std::uint64_t{random()} << 32 | random();
  }();
  return value;
}

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
  return boot + "/" + name_space("net") + "/" + name_space("pid");
}

void offer_memory(EndpointAddress& address) {
#ifdef PR_SET_PTRACER
  // Exempts this process from Yama, which restricts reads of the memory of other processes. On kernels without Yama
  // prctl() fails without effect, and processes of one user can read each other's memory anyway.
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
#endif
  address.pid = getpid();
  address.probe_address = reinterpret_cast<std::uintptr_t>(&probe());
  address.probe_value = probe();
}

bool can_read_memory(const EndpointAddress& address) {
  std::uint64_t value = 0;
  const iovec to{&value, sizeof value};
  const iovec from{pointer(address.probe_address), sizeof value};
  return process_vm_readv(static_cast<pid_t>(address.pid), &to, 1, &from, 1, 0) == sizeof value &&
         value == address.probe_value;
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
