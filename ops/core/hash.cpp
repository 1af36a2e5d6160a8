#include "troupe/ops/core/hash.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdio>

namespace troupe {

void ByteSequence::add(std::string_view text) {
  add(text.size());
  add_bytes(text.data(), text.size());
}

void ByteSequence::add(double number) {
  const double unsigned_zero = number == 0.0 ? 0.0 : number;
  add_bytes(&unsigned_zero, sizeof(unsigned_zero));
}

void ByteSequence::add_integer(std::int64_t number) {
  add_bytes(&number, sizeof(number));
}

struct Hash::State {
  XXH3_state_t state;
};

Hash::Hash() : state_(std::make_unique<State>()) {
  XXH3_64bits_reset(&state_->state);
}

Hash::~Hash() = default;

void Hash::add_bytes(const void* bytes, std::size_t count) {
  if (count > 0) XXH3_64bits_update(&state_->state, bytes, count);
}

std::uint64_t Hash::digest() const {
  return XXH3_64bits_digest(&state_->state);
}

std::string Hash::hex() const {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(digest()));
  return text;
}

std::uint64_t hash_of_text(std::string_view text) {
  Hash hash;
  hash.add(text);
  return hash.digest();
}

}  // namespace troupe
