#include "troupe/transport/device/make_device_group.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/tests/gpu.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/scheduling_probe.hpp"
#include "troupe/tests/test_device/test_device.hpp"
#include "troupe/tests/transport/device_groups.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Devices of the ranks of a group, by number.
std::vector<Device> devices(std::initializer_list<int> numbers) {
  std::vector<Device> result;
  for (const auto number : numbers) result.push_back(test_device(number));
  return result;
}

const std::vector<std::vector<Device>>& placements() {
  static const std::vector<std::vector<Device>> all{
      devices({0}),       devices({0, 0}),       devices({0, 1}),       devices({0, 0, 0}),   devices({2, 0, 1}),
      devices({0, 0, 1}), devices({0, 1, 2, 3}), devices({1, 0, 1, 0}), devices({0, 1, 1, 1})};
  return all;
}

std::string names(const std::vector<Device>& ranks) {
  std::string text;
  for (const auto& device : ranks) text += to_string(device) + " ";
  return text;
}

}  // namespace

TEST_CASE("devices sum to the bits of the host") {
  const auto& ranks = GENERATE(from_range(placements()));
  INFO(names(ranks));
  const DelayedTestDevices late;
  const auto group = make_device_group(ranks);
  for (const auto dtype : {DType::float32, DType::int32, DType::int64, DType::float16, DType::bfloat16})
    for (const std::int64_t count : {0, 1, 5, 16, 17, 63, 64, 1001}) {
      INFO(count << " " << name_of(dtype));
      const auto parts = parts_of(*group, dtype, count);
      wait_for(*group->all_reduce(parts), ranks.size());
      const auto wanted = summed_on_host(dtype, count, group->size());
      for (const auto& part : parts) CHECK(bytes_of(part.input) == wanted);
    }
}

TEST_CASE("devices broadcast, gather, scatter and scatter sums") {
  const auto& ranks = GENERATE(from_range(placements()));
  INFO(names(ranks));
  const DelayedTestDevices late;
  const auto group = make_device_group(ranks);
  const auto size = group->size();
  for (const std::int64_t count : {0, 1, 19, 64}) {
    INFO(count);
    for (int root = 0; root < size; ++root) {
      const auto parts = parts_of(*group, DType::uint8, count);
      wait_for(*group->broadcast(parts, root), ranks.size());
      for (const auto& part : parts) CHECK(bytes_of(part.input) == bytes_of(numbers_of(DType::uint8, count, root)));
      const auto cut = scatter_parts_of(*group, DType::float32, count, root);
      wait_for(*group->scatter(cut, root), ranks.size());
      for (int rank = 0; rank < size; ++rank) CHECK(is_scattered(cut[rank].output, size, rank, root));
    }
    auto gathered = parts_of(*group, DType::float32, count), scattered = parts_of(*group, DType::float32, size * count);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      gathered[i].output = Tensor(Shape{size * count}, DType::float32, ranks[i]);
      scattered[i].output = Tensor(Shape{count}, DType::float32, ranks[i]);
    }
    wait_for(*group->all_gather(gathered), ranks.size());
    wait_for(*group->reduce_scatter(scattered), ranks.size());
    std::vector<std::byte> all;
    for (int rank = 0; rank < size; ++rank) {
      const auto bytes = bytes_of(numbers_of(DType::float32, count, rank));
      all.insert(all.end(), bytes.begin(), bytes.end());
    }
    const auto sum = summed_on_host(DType::float32, size * count, size);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const auto bytes = static_cast<std::ptrdiff_t>(4 * count), first = static_cast<std::ptrdiff_t>(i) * bytes;
      CHECK(bytes_of(gathered[i].output) == all);
      CHECK(bytes_of(scattered[i].output) == std::vector<std::byte>(sum.begin() + first, sum.begin() + first + bytes));
    }
  }
}

// For any order in which streams go on, no memory is read or overwritten too early.
TEST_CASE("collectives of devices follow what they wait for, and are followed by what waits for them") {
  constexpr std::int64_t kCount = 100;
  constexpr int kSteps = 3;
  const auto& ranks = GENERATE(from_range(placements()));
  INFO(names(ranks));
  const auto wanted = summed_on_host(DType::float32, kCount, static_cast<int>(ranks.size()));
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    INFO("seed " << seed);
    const auto group = make_device_group(ranks);
    std::vector<Part> parts;
    std::vector<Tensor> host, results;
    std::vector<std::unique_ptr<Stream>> streams;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      parts.emplace_back().input = Tensor(Shape{kCount}, DType::float32, ranks[i]);
      streams.push_back(backend_of(ranks[i]).make_stream(ranks[i]));
      host.push_back(numbers_of(DType::float32, kCount, static_cast<int>(i)));
      for (int step = 0; step < kSteps; ++step) results.emplace_back(Shape{kCount}, DType::float32);
    }
    {
      const HeldTestDevices held(seed);
      for (int step = 0; step < kSteps; ++step) {
        for (std::size_t i = 0; i < ranks.size(); ++i) {
          streams[i]->copy(parts[i].input.address(), host[i].address(), host[i].bytes());
          parts[i].ready = streams[i]->record();
        }
        const auto work = group->all_reduce(parts);
        REQUIRE(work->advance());
        for (std::size_t i = 0; i < ranks.size(); ++i) {
          const auto& result = results[i * kSteps + static_cast<std::size_t>(step)];
          streams[i]->wait(work->done(i));
          streams[i]->copy(result.address(), parts[i].input.address(), result.bytes());
          streams[i]->zero(parts[i].input.address(), parts[i].input.bytes());
        }
      }
    }
    for (const auto& stream : streams) stream->record().wait();
    for (const auto& result : results) CHECK(bytes_of(result) == wanted);
  }
}

TEST_CASE("tensors of a collective of devices that do not fit are refused with the rank's name") {
  const auto refuses = [](const auto& change, const char* text) {
    const auto group = make_device_group(devices({0, 1}));
    auto parts = parts_of(*group, DType::float32, 4);
    change(parts);
    CHECK_THROWS_WITH(group->all_reduce(parts), Contains(text));
    // Other processes may have begun it.
    CHECK(group->failure() != nullptr);
    CHECK_THROWS_AS(group->all_reduce(parts_of(*group, DType::float32, 4)), Aborted);
  };
  refuses([](auto& parts) { parts[1].input = Tensor(Shape{5}, DType::float32, test_device(1)); },
          "all_reduce of 4 float32 on rank 0 but all_reduce of 5 float32 on rank 1");
  refuses([](auto& parts) { parts[1].input = Tensor(Shape{4}, DType::float32, test_device(2)); },
          "rank 1 brings float32[4] on test:2, but is on test:1");
  refuses([](auto& parts) { parts[1].input = Tensor(); }, "rank 1 brings no tensor");
  refuses([](auto& parts) { parts.pop_back(); }, "1 ranks of this process come, which has 2");
  const auto group = make_device_group(devices({0, 1}));
  auto cut = scatter_parts_of(*group, DType::float32, 4, 1);
  cut[1].input = Tensor(Shape{7}, DType::float32, test_device(1));
  CHECK_THROWS_WITH(group->scatter(cut, 1), Contains("float32[7] on test:1 is not 2 times float32[4] on test:1"));
  const auto other = make_device_group(devices({0, 1}));
  CHECK_THROWS_WITH(other->scatter(scatter_parts_of(*other, DType::float32, 4, 1), 0), Contains("rank 0 brings no"));
  CHECK_THROWS_WITH(make_device_group(devices({0}))->barrier(), Contains("has no barrier"));
  CHECK_THROWS_WITH(make_device_group(devices({0}))->send(Tensor(), 0), Contains("send each other no tensors"));
  CHECK_THROWS_WITH(make_device_group(devices({0}))->recv(Tensor(), 0), Contains("send each other no tensors"));
  refuses(
      [](auto& parts) {
        for (int i = 0; i < 2; ++i) parts[i].input = Tensor(Shape{4}, DType::uint8, test_device(i));
      },
      "no sum of uint8");
  CHECK_THROWS_WITH(make_device_group({}), Contains("at least one rank"));
  CHECK_THROWS_WITH(make_device_group({test_device(0), Device{}}), Contains("cannot be one group"));
}

TEST_CASE("no collective of devices begins after an abort") {
  const auto failure = std::make_shared<Failure>(Failure{.what = "[test] the reason"});
  for (const bool leaves : {false, true}) {
    const auto group = make_device_group(devices({0, 1}));
    std::atomic<int> told{0};
    group->on_failed([&](const FailurePtr&) { ++told; });
    const auto parts = parts_of(*group, DType::int32, 100);
    const auto work = group->all_reduce(parts);
    if (leaves)
      group->leave(failure);
    else
      group->abort(failure);
    group->abort(std::make_shared<Failure>(Failure{.what = "[test] another"}));
    CHECK(group->failure() == failure);
    CHECK_THROWS_WITH(group->all_reduce(parts), Contains("[test] the reason"));
    wait_for(*work, 2);
    CHECK(bytes_of(parts[1].input) == summed_on_host(DType::int32, 100, 2));
    CHECK(told == 0);
  }
}

namespace {

/// The failure of a group, which is told on another thread. The group must end first.
class ToldFailure {
 public:
  template <class Group>
  void listen_to(Group& group) {
    group.on_failed([this](const FailurePtr& found) {
      std::lock_guard lock(mutex_);
      failure_ = found;
      changed_.notify_all();
    });
  }
  FailurePtr wait() {
    std::unique_lock lock(mutex_);
    REQUIRE(changed_.wait_for(lock, patience(), [&] { return failure_ != nullptr; }));
    return failure_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  FailurePtr failure_;
};

/// A group of three ranks completes a collective; in the next one a rank is missing. Returns what is wrong.
std::string miss_rank(std::chrono::milliseconds limit) {
  ToldFailure told;
  const auto group = make_device_group(devices({0, 1, 2}), {.limit = limit});
  told.listen_to(*group);
  wait_for(*group->all_reduce(parts_of(*group, DType::float32, 7)), 3);
  if (const auto failure = group->failure()) return "the first collective fails: " + failure->what;
  const auto never = std::make_shared<ManualEvent>();
  auto parts = parts_of(*group, DType::float32, 7);
  parts[1].ready = Event(never);
  const auto work = group->all_reduce(parts);
  CHECK(work->waits_for() == "all_reduce of 7 float32 (collective 1): rank 1 (test:1) has not come");
  const auto failure = told.wait();
  CHECK(failure->kind == FailureKind::stalled);
  CHECK_THAT(to_string(*failure),
             Contains("not complete after " + std::to_string(limit.count()) + " ms: all_reduce of 7 float32") &&
                 Contains("rank 1 (test:1) has not come"));
  CHECK(group->failure() == failure);
  CHECK_THROWS_AS(group->all_reduce(parts), Aborted);
  never->complete();
  wait_for(*work, 3);
  return "";
}

}  // namespace

TEST_CASE("a collective of devices that takes too long ends the group and names the rank that is missing") {
  CHECK(keeps_promise(std::chrono::milliseconds(100), miss_rank) == "");
}

TEST_CASE("time in which no rank waits for another is not counted") {
  const auto group = make_device_group(devices({0, 1}), {.limit = std::chrono::milliseconds(50)});
  const auto slow = std::make_shared<ManualEvent>();
  auto parts = parts_of(*group, DType::float32, 7);
  for (auto& part : parts) part.ready = Event(slow);
  const auto work = group->all_reduce(parts);
  // Another group, of which a rank is missing, fails when the limit has passed several times.
  ToldFailure told;
  const auto stalled = make_device_group(devices({0, 1}), {.limit = std::chrono::milliseconds(300)});
  told.listen_to(*stalled);
  const auto never = std::make_shared<ManualEvent>();
  auto missing = parts_of(*stalled, DType::float32, 7);
  missing[1].ready = Event(never);
  const auto stalled_work = stalled->all_reduce(missing);
  CHECK(told.wait()->kind == FailureKind::stalled);
  CHECK(group->failure() == nullptr);
  never->complete();
  wait_for(*stalled_work, 2);
  slow->complete();
  wait_for(*work, 2);
  CHECK(group->failure() == nullptr);
}

TEST_CASE("an error on a device reaches all ranks of its collective") {
  const auto group = make_device_group(devices({0, 1}));
  auto parts = parts_of(*group, DType::float32, 7);
  parts[0].ready = failed_event(std::make_exception_ptr(Error("test", "the gradient is wrong")));
  const auto work = group->all_reduce(parts);
  for (std::size_t i = 0; i < 2; ++i) CHECK_THROWS_WITH(work->done(i).wait(), Contains("the gradient is wrong"));
}

TEST_CASE("groups of devices let go of all memory") {
  const auto before = test_device_bytes_in_use();
  {
    const auto group = make_device_group(devices({0, 1, 1}));
    for (int i = 0; i < 5; ++i) group->all_reduce(parts_of(*group, DType::float32, 1000));
  }
  CHECK(test_device_bytes_in_use() == before);
}

TEST_CASE("GPUs of a group without NCCL sum to the bits of the host", "[gpu]") {
  if (!gpu()) return;
  const Device first{DeviceType::cuda, 0}, last{DeviceType::cuda, device_count(DeviceType::cuda) - 1};
  for (const auto& devices : {std::vector{first}, std::vector{first, first, first}, std::vector{last, first, last}}) {
    const auto group = make_device_group(devices);
    for (const auto dtype : {DType::float32, DType::int32, DType::int64, DType::float16, DType::bfloat16})
      for (const std::int64_t count : {1, 63, 100'003}) {
        INFO(count << " " << name_of(dtype));
        const auto parts = parts_of(*group, dtype, count);
        wait_for(*group->all_reduce(parts), devices.size());
        const auto wanted = summed_on_host(dtype, count, group->size());
        for (const auto& part : parts) CHECK(bytes_of(part.input) == wanted);
      }
  }
}
