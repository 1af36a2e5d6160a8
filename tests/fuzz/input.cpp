#include "troupe/tests/fuzz/input.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "troupe/transport/zeromq/packet.hpp"

namespace troupe::fuzz {

std::uint8_t Input::byte() {
  const auto found = take(1);
  return found.empty() ? std::uint8_t{0} : std::to_integer<std::uint8_t>(found[0]);
}

std::vector<std::byte> Input::take(std::size_t count) {
  const auto found = bytes_.first(std::min(count, bytes_.size()));
  bytes_ = bytes_.subspan(found.size());
  return {found.begin(), found.end()};
}

void put(std::span<std::byte> header, std::size_t place, std::uint64_t value) {
  for (std::size_t i = 0; i < sizeof value; ++i) header[place + i] = static_cast<std::byte>(value >> (8 * i) & 0xFF);
}

void repair(std::span<std::byte> header) {
  if (header.size() < sizeof(std::uint64_t)) return;
  const auto place = header.size() - sizeof(std::uint64_t);
  put(header, place, zeromq::checksum_of(header.first(place)));
}

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

}  // namespace troupe::fuzz
