#include <sys/mman.h>

#include "troupe/actors/load/loader.hpp"
#include "troupe/actors/segment/task_registry.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/ops/core/batch_info.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/plans/test_plans.hpp"
#include "troupe/tests/test_device/test_device.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr std::int64_t kRows = 23, kPixels = 5;

/// Bytes scaled to floats, windows of one sequence, and wide numbers.
Dataset samples() {
  Tensor pixels(Shape{kRows, kPixels}, DType::uint8), times(Shape{kRows * 2 + 1}, DType::int32),
      keys(Shape{kRows}, DType::int64);
  for (std::int64_t i = 0; i < pixels.elements(); ++i)
    pixels.mutable_data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 37);
  for (std::int64_t i = 0; i < times.elements(); ++i)
    times.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(i);
  for (std::int64_t i = 0; i < kRows; ++i) keys.mutable_data<std::int64_t>()[i] = (std::int64_t{1} << 40) + i;
  return Dataset::from_windows("now", times, {2, kRows})
      .with_windows("next", times, 1)
      .with_field("pixels", pixels)
      .with_field("keys", keys)
      .scaled("pixels", 1.0F / 255.0F, -0.3F);
}

const std::vector<std::string> kFields{"pixels", "next", "keys", "now"};

using Bytes = std::vector<std::byte>;

/// All that a replica reads in an epoch.
struct Read {
  std::vector<std::vector<Bytes>> batches;  // by field
  std::vector<BatchInfo> infos;
  bool operator==(const Read&) const = default;
};

Bytes bytes_of(const Tensor& tensor) {
  return {tensor.raw(), tensor.raw() + tensor.bytes()};
}

PlanActor reader(Read& read) {
  PlanActor sink{.name = "sink", .role = ActorRole::sink};
  sink.make_task = function_task([&read](const Firing& firing) {
    auto& batch = read.batches.emplace_back();
    for (const auto& field : firing.inputs.first(kFields.size())) batch.push_back(bytes_of(field));
    read.infos.push_back(BatchInfo::read(firing.inputs.back()));
  });
  return sink;
}

/// The epochs of one of two replicas, whose batches are made on `device`.
Read load_rows(const Dataset& data, int replica, Device device, Grain grain) {
  Read read;
  Plan plan;
  plan.max_rows = part_of_batch(data.batch_rows(), 2, 0).rows;
  const bool kept = kept_on(device, data, kFields);
  const auto numbers = kept ? add_index_loader(plan, "data", data, 4, 2, replica, {})
                            : add_loader(plan, "data", data, kFields, 4, 2, replica, {});
  const auto fields = kept ? add_row_loader(plan, "data", data, kFields, {numbers, 0}, replica, {0, device}) : numbers;
  const auto sink = plan.add(reader(read));
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(kFields.size()); ++i) plan.connect(fields, i, sink);
  plan.connect(numbers, kept ? 1 : static_cast<std::int32_t>(kFields.size()), sink);
  Runtime runtime({.workers = 2, .cpu_devices = 1});
  SpawnedPlan spawned(runtime, in_grain(plan, grain), context_for(data));
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    spawned.start({.first_step = 10 * epoch, .epoch = epoch});
    spawned.wait();
  }
  return read;
}

/// A row of bytes without memory behind them.
Tensor untouched(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  return {{static_cast<std::byte*>(memory), [bytes](std::byte* mapped) { munmap(mapped, bytes); }},
          Shape{1, static_cast<std::int64_t>(bytes)},
          DType::uint8};
}

}  // namespace

TEST_CASE("batches that are made on a device have the bytes of those loaded on the host", "[test device]") {
  const auto data = samples().skip(3).take(18).shuffle(8).batch(7);
  for (const int replica : {0, 1}) {
    const auto expected = load_rows(data, replica, Device{}, Grain::fused);
    REQUIRE(expected.batches.size() == 9);
    CHECK(expected.batches[0] != expected.batches[3]);
    for (const auto grain : {Grain::fused, Grain::per_op}) {
      CHECK(load_rows(data, replica, test_device(), grain) == expected);
      CHECK(load_rows(data.prefetch(2), replica, test_device(), grain) == expected);
    }
  }
}

TEST_CASE("what a device keeps is as large as the user allows, and was written by no function") {
  const auto data = samples();
  const std::int64_t bytes = kRows * (kPixels + 2 * 8 + 8);
  CHECK(kept_on(test_device(), data, kFields));
  CHECK(kept_on(test_device(), data.keep_on_devices(bytes), kFields));
  CHECK_FALSE(kept_on(test_device(), data.keep_on_devices(bytes - 1), kFields));
  CHECK(kept_on(test_device(), data.take(10).keep_on_devices(bytes - 1), kFields));
  CHECK_FALSE(kept_on(test_device(), data.keep_on_devices(0), kFields));
  CHECK_FALSE(kept_on(Device{}, data, kFields));
  const auto written = data.with_function<float>(
      "noise", {2}, [](std::int64_t row, std::span<float> to) { to[0] = to[1] = float(row); });
  CHECK_FALSE(kept_on(test_device(), written, std::vector<std::string>{"now", "noise"}));
  CHECK(kept_on(test_device(), written, std::vector<std::string>{"now"}));
  // The largest shard counts, in every process.
  const auto shard = data.take(5).in_layout({{5, 1000}, 0});
  CHECK_FALSE(kept_on(test_device(), shard.keep_on_devices(bytes), kFields));
  CHECK_THROWS_WITH(data.keep_on_devices(-1), Contains("[dataset]") && Contains("not -1"));
}

TEST_CASE("copies on a device are shared by those who hold them, and given back with the last") {
  const Tensor array(Shape{1000}, DType::float32), other(Shape{1000}, DType::float32);
  const auto before = test_device_bytes_in_use();
  DeviceArrays arrays;
  auto first = arrays.copy_of(array, test_device(0));
  const auto one = test_device_bytes_in_use() - before;
  CHECK(one >= array.bytes());
  auto second = arrays.copy_of(array.view(Shape{10, 100}), test_device(0));
  CHECK(second->address() == first->address());
  CHECK(second->shape() == Shape{10, 100});
  CHECK(test_device_bytes_in_use() - before == one);
  const auto elsewhere = arrays.copy_of(array, test_device(1)), of_other = arrays.copy_of(other, test_device(0));
  CHECK(elsewhere->device() == test_device(1));
  CHECK(of_other->address() != first->address());
  CHECK(test_device_bytes_in_use() - before == 3 * one);
  first.reset();
  CHECK(test_device_bytes_in_use() - before == 3 * one);
  second.reset();
  CHECK(test_device_bytes_in_use() - before == 2 * one);
  CHECK(arrays.copy_of(array, test_device(0))->device() == test_device(0));
}

TEST_CASE("a device without room for the data says how they stay on the host") {
  const auto before = test_device_bytes_in_use();
  {
    const auto data = Dataset::from_arrays({{"x", untouched(std::size_t{5} << 30)}}).keep_on_devices(kForEver << 20);
    Plan plan;
    const std::vector<std::string> fields{"x"};
    const auto numbers = add_index_loader(plan, "data", data, 0, 1, 0, {});
    add_row_loader(plan, "data", data, fields, {numbers, 0}, 0, {0, test_device()});
    auto context = context_for(data);
    CHECK_THROWS_WITH(make_task(plan.actors.back(), context), Contains("[loader] field 'x' cannot be kept on test:0") &&
                                                                  Contains("Dataset::keep_on_devices(0)") &&
                                                                  Contains("out of memory"));
  }
  CHECK(test_device_bytes_in_use() == before);
}
