#include "troupe/transport/device/buffers.hpp"

#include "troupe/tests/catch.hpp"

using namespace troupe;
using device::Buffers;

TEST_CASE("a free buffer is taken again for requests of its size, small ones included") {
  for (const std::size_t bytes :
       {std::size_t{1}, std::size_t{31}, std::size_t{32}, std::size_t{64}, std::size_t{200}}) {
    auto pool = Buffers::on_device({DeviceType::cpu, 0});
    const auto* first = pool.take(bytes).get();
    CHECK(first->bytes() >= bytes);
    CHECK(pool.take(bytes).get() == first);
    const auto held = pool.take(bytes);
    CHECK(pool.take(bytes).get() != held.get());
  }
}
