#include "troupe/strategies/training/rank_zero_values.hpp"

#include <algorithm>
#include <array>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/hash.hpp"
#include "troupe/strategies/gathered_numbers.hpp"
#include "troupe/transport/bytes.hpp"
#include "troupe/transport/frame.hpp"

namespace troupe {

namespace {

constexpr std::size_t kNameLimit = 4'096;

/// A parameter or a part of the optimizer state.
struct NamedVersion {
  std::string name;
  ParameterStore::Version version;
};

std::vector<NamedVersion> versions_in(const ParameterStore& store) {
  std::vector<NamedVersion> values;
  auto names = store.names();
  std::ranges::sort(names);
  for (const auto& name : names)
    if (auto version = store.newest(name)) values.push_back({name, std::move(*version)});
  return values;
}

std::array<std::int64_t, 6> numbers_of(const TrainingPosition& position) {
  return {position.step, position.epoch, position.batch, position.rows, position.batch_rows, position.layout};
}

std::int64_t hash_of(const std::vector<NamedVersion>& values, const TrainingPosition& position) {
  Hash hash;
  for (const auto& [name, version] : values) {
    hash.add(name);
    hash.add(version.updates);
    hash.add(to_string(version.value));
    hash.add_bytes(version.value.raw(), version.value.bytes());
  }
  for (const auto number : numbers_of(position)) hash.add(number);
  return static_cast<std::int64_t>(hash.digest());
}

/// The position, and the names, dtypes and shapes of the values that follow.
std::vector<std::byte> list_of(const std::vector<NamedVersion>& values, const TrainingPosition& position) {
  ByteWriter writer;
  for (const auto number : numbers_of(position)) writer.put(number);
  writer.put(static_cast<std::uint64_t>(values.size()));
  for (const auto& [name, version] : values) {
    writer.put_text(name, kNameLimit);
    writer.put(version.updates);
    writer.put(static_cast<std::uint8_t>(version.value.dtype()));
    writer.put(static_cast<std::uint8_t>(version.value.shape().rank()));
    for (std::size_t axis = 0; axis < version.value.shape().rank(); ++axis) writer.put(version.value.shape()[axis]);
  }
  return std::move(writer).take();
}

std::vector<NamedVersion> read_list(const Tensor& list, TrainingPosition& position) {
  ByteReader reader({list.raw(), list.bytes()}, "chief's values");
  for (auto* number :
       {&position.step, &position.epoch, &position.batch, &position.rows, &position.batch_rows, &position.layout})
    *number = reader.get<std::int64_t>();
  std::vector<NamedVersion> values(reader.get<std::uint64_t>());
  for (auto& [name, version] : values) {
    name = reader.get_text(kNameLimit);
    version.updates = reader.get<std::int64_t>();
    const auto dtype = static_cast<DType>(reader.get<std::uint8_t>());
    std::vector<std::int64_t> sizes(reader.get<std::uint8_t>());
    for (auto& size : sizes) size = reader.get<std::int64_t>();
    version.value = Tensor(Shape(std::span<const std::int64_t>(sizes)), dtype);
  }
  return values;
}

}  // namespace

void adopt_rank_zero_values(Communicator& group, ParameterStore& store, std::chrono::milliseconds limit) {
  const bool whole = store.broken().empty();
  auto position = store.position();
  auto values = whole ? versions_in(store) : std::vector<NamedVersion>{};
  const auto hashes = gathered_numbers(group, {whole ? hash_of(values, position) : 0}, limit);
  if (std::ranges::all_of(hashes, [&](auto hash) { return hash == hashes[0]; })) return;
  const bool is_rank_zero = group.rank() == 0;
  const auto list = is_rank_zero ? list_of(values, position) : std::vector<std::byte>{};
  const auto length = Tensor::from<std::int64_t>({1}, std::vector{static_cast<std::int64_t>(list.size())});
  group.broadcast(length, 0)->wait(limit);
  const auto listed = is_rank_zero ? payload_of(list) : Tensor(Shape{length.item<std::int64_t>()}, DType::uint8);
  group.broadcast(listed, 0)->wait(limit);
  if (!is_rank_zero) values = read_list(listed, position);
  for (auto& [name, version] : values) {
    group.broadcast(version.value, 0)->wait(limit);
    if (!is_rank_zero && whole) store.adopt(name, version);
  }
  if (!is_rank_zero && whole) store.set_position(position);
}

}  // namespace troupe
