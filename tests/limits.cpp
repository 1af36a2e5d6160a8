#include "troupe/tests/limits.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

namespace troupe::testing {

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

/// Measured in a release build on the idle reference machine, a virtual machine with two cores of a server of 2023.
constexpr Seconds kReferenceAccesses{0.012}, kReferenceHandoffs{0.0025};
constexpr std::chrono::seconds kPatience{20};

std::vector<std::uint64_t> fill(std::size_t size) {
  std::vector<std::uint64_t> numbers(size);
  for (std::size_t i = 0; i < size; ++i) numbers[i] = i * 2'654'435'761U;
  return numbers;
}

/// Random accesses to 512 KiB, each of which depends on the one before.
Seconds time_of_accesses() {
  constexpr std::size_t kSize = 1 << 16;
  auto numbers = fill(kSize);
  const auto begin = Clock::now();
  std::uint64_t at = 1;
  for (std::size_t i = 0; i < 20 * kSize; ++i) {
    auto& number = numbers[at % kSize];
    number = number * 6'364'136'223'846'793'005U + 1;
    at = number >> 32;
  }
  // The result is used, so the loop stays.
  if (at == 0) std::this_thread::yield();
  return Clock::now() - begin;
}

/// Two threads take turns.
Seconds time_of_handoffs() {
  constexpr int kTurns = 1'000;
  std::mutex mutex;
  std::condition_variable changed;
  int turn = 0;
  const auto take_turns = [&](int parity) {
    std::unique_lock lock(mutex);
    while (turn < kTurns) {
      changed.wait(lock, [&] { return turn % 2 == parity || turn >= kTurns; });
      ++turn;
      changed.notify_one();
    }
  };
  const auto begin = Clock::now();
  std::thread other([&] { take_turns(1); });
  take_turns(0);
  other.join();
  return Clock::now() - begin;
}

double measured_slowness() {
  // The bound keeps one unlucky moment from making a limit endless.
  return std::clamp(std::max(time_of_accesses() / kReferenceAccesses, time_of_handoffs() / kReferenceHandoffs), 1.0,
                    10.0);
}

}  // namespace

double slowness() {
  static const double slowness = [] {
    const char* given = std::getenv("TROUPE_SLOWNESS");
    return given != nullptr ? std::max(1.0, std::atof(given)) : measured_slowness();
  }();
  return slowness;
}

std::chrono::milliseconds limit_of(std::chrono::milliseconds on_reference_machine) {
  return std::chrono::ceil<std::chrono::milliseconds>(slowness() * on_reference_machine);
}

std::chrono::milliseconds patience() {
  return limit_of(kPatience);
}

bool eventually(const std::function<bool()>& holds) {
  const auto deadline = Clock::now() + patience();
  while (!holds()) {
    if (Clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace troupe::testing
