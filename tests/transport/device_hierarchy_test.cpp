#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <future>
#include <mutex>
#include <thread>

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/expect.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/scheduling_probe.hpp"
#include "troupe/tests/test_device/test_device.hpp"
#include "troupe/tests/transport/device_groups.hpp"
#include "troupe/tests/transport/groups.hpp"
#include "troupe/transport/hierarchy/hierarchical_device_group.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// The processes of a group of devices, all in this one. Their ranks are on devices of their own.
struct Processes {
  std::vector<int> process_of;
  std::vector<std::shared_ptr<Communicator>> groups;
  std::vector<std::shared_ptr<Communicator>> across;
};

Processes make_processes(const std::vector<int>& process_of, bool over_network, DeviceGroupOptions options = {}) {
  Processes made{process_of, {}, {}};
  std::vector<int> known;
  std::vector<std::vector<Device>> devices;
  for (std::size_t rank = 0; rank < process_of.size(); ++rank) {
    const auto found = std::ranges::find(known, process_of[rank]);
    const auto at = static_cast<std::size_t>(found - known.begin());
    if (found == known.end()) {
      known.push_back(process_of[rank]);
      devices.emplace_back();
    }
    // Two ranks of a process share a device.
    devices[at].push_back(test_device(static_cast<int>(4 * at + devices[at].size() / 2)));
  }
  const auto count = static_cast<int>(known.size());
  made.across = over_network ? make_zeromq_group(count, false) : make_local_group(count);
  for (int process = 0; process < count; ++process)
    made.groups.push_back(make_hierarchical_device_group(
        {process_of, make_device_group(devices[process], options), made.across[process], options}));
  return made;
}

/// Calls the function for every process, each on a thread of its own. Rethrows what one of them throws.
void on_processes(const Processes& processes, const std::function<void(Communicator&)>& function) {
  std::vector<std::thread> threads;
  std::vector<std::exception_ptr> errors(processes.groups.size());
  for (std::size_t i = 0; i < processes.groups.size(); ++i)
    threads.emplace_back([&, i] {
      try {
        function(*processes.groups[i]);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    });
  for (auto& thread : threads) thread.join();
  for (const auto& error : errors)
    if (error) std::rethrow_exception(error);
}

/// The sum of the sums of the processes.
std::vector<std::byte> wanted_sum(const std::vector<int>& process_of, DType dtype, std::int64_t count) {
  std::vector<int> known;
  for (const auto process : process_of)
    if (std::ranges::find(known, process) == known.end()) known.push_back(process);
  std::vector<Tensor> sums;
  for (const auto process : known) {
    std::vector<Tensor> tensors;
    for (std::size_t rank = 0; rank < process_of.size(); ++rank)
      if (process_of[rank] == process) tensors.push_back(numbers_of(dtype, count, static_cast<int>(rank)));
    sums.push_back(sum_on_host(tensors));
  }
  return bytes_of(sum_on_host(sums));
}

const std::vector<std::vector<int>> kLayouts{{0, 1}, {0, 0, 1, 1}, {0, 1, 0, 1}, {0, 0, 0, 1}, {5, 7, 7, 2, 5}, {0}};

}  // namespace

TEST_CASE("devices of several processes sum, broadcast, gather and scatter") {
  const auto& layout = GENERATE(from_range(kLayouts));
  const bool over_network = GENERATE(false, true);
  const DelayedTestDevices late;
  const auto processes = make_processes(layout, over_network);
  const auto size = static_cast<int>(layout.size());
  on_processes(processes, [&](Communicator& group) {
    const auto here = group.local().size();
    for (const auto dtype : {DType::float32, DType::int64, DType::bfloat16})
      for (const std::int64_t count : {0, 1, 65, 5000}) {
        const auto parts = parts_of(group, dtype, count);
        wait_for(*group.all_reduce(parts), here);
        const auto wanted = wanted_sum(layout, dtype, count);
        for (const auto& part : parts) expect(bytes_of(part.input) == wanted, "a sum is wrong");
      }
    for (int root = 0; root < size; ++root) {
      const auto parts = parts_of(group, DType::uint8, 33);
      wait_for(*group.broadcast(parts, root), here);
      for (const auto& part : parts)
        expect(bytes_of(part.input) == bytes_of(numbers_of(DType::uint8, 33, root)), "a broadcast is wrong");
      const auto cut = scatter_parts_of(group, DType::float32, 19, root);
      wait_for(*group.scatter(cut, root), here);
      for (std::size_t i = 0; i < here; ++i)
        expect(is_scattered(cut[i].output, size, group.local()[i].rank, root), "a scattered part is wrong");
    }
    auto gathered = parts_of(group, DType::float32, 19), scattered = parts_of(group, DType::float32, size * 19);
    for (std::size_t i = 0; i < here; ++i) {
      gathered[i].output = Tensor(Shape{size * 19}, DType::float32, group.local()[i].device);
      scattered[i].output = Tensor(Shape{19}, DType::float32, group.local()[i].device);
    }
    wait_for(*group.all_gather(gathered), here);
    wait_for(*group.reduce_scatter(scattered), here);
    const auto sum = wanted_sum(layout, DType::float32, size * 19);
    for (std::size_t i = 0; i < here; ++i) {
      const auto all = bytes_of(gathered[i].output);
      for (int rank = 0; rank < size; ++rank)
        expect(std::memcmp(all.data() + rank * 76, bytes_of(numbers_of(DType::float32, 19, rank)).data(), 76) == 0,
               "a gather is wrong");
      expect(std::memcmp(sum.data() + group.local()[i].rank * 76, bytes_of(scattered[i].output).data(), 76) == 0,
             "a scatter is wrong");
      const auto input = numbers_of(DType::float32, size * 19, group.local()[i].rank);
      expect(bytes_of(scattered[i].input) == bytes_of(input), "a scatter has changed its input");
    }
  });
}

// Like an actor, a rank advances only after a notice.
TEST_CASE("devices of several processes: many collectives at once, advanced when there is progress") {
  constexpr int kCollectives = 12;
  const std::vector<int> layout{0, 0, 1, 1, 2};
  const bool over_network = GENERATE(false, true);
  const DelayedTestDevices late;
  const auto processes = make_processes(layout, over_network);
  on_processes(processes, [&](Communicator& group) {
    struct Waiter {
      std::mutex mutex;
      std::condition_variable changed;
      int told = 1;
    };
    const auto waiter = std::make_shared<Waiter>();
    std::vector<std::vector<Part>> parts;
    std::vector<std::shared_ptr<Work>> works;
    for (int i = 0; i < kCollectives; ++i) {
      parts.push_back(parts_of(group, DType::float32, 100 * i));
      works.push_back(group.all_reduce(parts.back()));
      for (std::size_t local = 0; local < parts.back().size(); ++local)
        works.back()->listen(local, [waiter] {
          std::lock_guard lock(waiter->mutex);
          ++waiter->told;
          waiter->changed.notify_all();
        });
    }
    for (bool complete = false; !complete;) {
      {
        std::unique_lock lock(waiter->mutex);
        const bool progress = waiter->changed.wait_for(lock, patience(), [&] { return waiter->told > 0; });
        expect(progress, "no rank was notified of progress");
        waiter->told = 0;
      }
      complete = true;
      for (auto work = works.rbegin(); work != works.rend(); ++work) complete = (*work)->advance() && complete;
    }
    for (int i = 0; i < kCollectives; ++i) {
      wait_for(*works[i], group.local().size());
      for (const auto& part : parts[i])
        expect(bytes_of(part.input) == wanted_sum(layout, DType::float32, 100 * i), "a sum is wrong");
    }
  });
}

TEST_CASE("an abort in one process ends the devices' collectives of all, with its reason") {
  const auto processes = make_processes({0, 0, 1}, GENERATE(false, true));
  std::atomic<int> aborted{0};
  on_processes(processes, [&](Communicator& group) {
    if (group.local().size() == 1) {
      group.abort(std::make_shared<Failure>(Failure{.actor = "loss", .step = 3, .what = "[loss] not finite"}));
      return;
    }
    const auto parts = parts_of(group, DType::float32, 1000);
    try {
      wait_for(*group.all_reduce(parts), 2);
    } catch (const Aborted& error) {
      expect(error.failure()->what == "[loss] not finite", error.what());
      ++aborted;
    }
  });
  CHECK(aborted == 1);
  CHECK(processes.groups[0]->failure() != nullptr);
}

TEST_CASE("a process that leaves ends the collectives of devices that it has not begun, and no earlier ones") {
  const std::vector<int> layout{0, 0, 1};
  const DelayedTestDevices late;
  const auto processes = make_processes(layout, GENERATE(false, true));
  const auto wanted = wanted_sum(layout, DType::float32, 1000);
  std::atomic<int> departed{0};
  on_processes(processes, [&](Communicator& group) {
    const auto here = group.local().size();
    std::vector<std::vector<Part>> parts;
    std::vector<std::shared_ptr<Work>> begun;
    for (int i = 0; i < 3; ++i) {
      parts.push_back(parts_of(group, DType::float32, 1000));
      begun.push_back(group.all_reduce(parts.back()));
    }
    if (here == 1) group.leave(std::make_shared<Failure>(Failure{.actor = "loss", .what = "[loss] not finite"}));
    for (int i = 0; i < 3; ++i) {
      wait_for(*begun[static_cast<std::size_t>(i)], here);
      for (const auto& part : parts[static_cast<std::size_t>(i)])
        expect(bytes_of(part.input) == wanted, "a sum before the departure is wrong");
    }
    for (int i = 0; i < 2; ++i) try {
        wait_for(*group.all_reduce(parts_of(group, DType::float32, 1000)), here);
      } catch (const Departed& error) {
        expect(error.failure()->what == "[loss] not finite", error.what());
        ++departed;
      }
  });
  CHECK(departed == 4);
  for (const auto& group : processes.groups) CHECK(group->failure() == nullptr);
}

namespace {

/// The second of two processes does not come. Returns what is wrong.
std::string miss_process(std::chrono::milliseconds limit) {
  const auto processes = make_processes({0, 0, 1}, false, {.limit = limit});
  std::promise<FailurePtr> told;
  processes.groups[0]->on_failed([&](const FailurePtr& failure) { told.set_value(failure); });
  const auto parts = parts_of(*processes.groups[0], DType::float32, 1000);
  const auto work = processes.groups[0]->all_reduce(parts);
  CHECK_THROWS_AS(wait_for(*work, 2), Aborted);
  auto failure = told.get_future();
  REQUIRE(failure.wait_for(patience()) == std::future_status::ready);
  const auto text = to_string(*failure.get());
  CHECK_THAT(text, Contains("not complete after " + std::to_string(limit.count()) +
                            " ms: all_reduce of 1000 float32 (collective 0): "));
  const auto& late = processes.groups[1];
  CHECK_THROWS_AS(wait_for(*late->all_reduce(parts_of(*late, DType::float32, 1000)), 1), Aborted);
  // Sooner, the sum inside the first process was not complete.
  return text.find("rank 1 has not come") != std::string::npos ? "" : text;
}

}  // namespace

TEST_CASE("a process that does not come is missed by the devices of the others within the limit") {
  CHECK(keeps_promise(std::chrono::milliseconds(100), miss_process) == "");
}

TEST_CASE("a collective of devices that is dropped before its end ends the group") {
  const auto processes = make_processes({0, 1}, false);
  processes.groups[0]->all_reduce(parts_of(*processes.groups[0], DType::float32, 1000));
  REQUIRE(processes.groups[0]->failure() != nullptr);
  CHECK_THAT(processes.groups[0]->failure()->what, Contains("given up half-way"));
}

TEST_CASE("parts of a hierarchy of devices that do not fit are refused") {
  const auto group = [](std::vector<int> process_of, int ranks, int processes) {
    return make_hierarchical_device_group({std::move(process_of),
                                           make_device_group(std::vector<Device>(ranks, test_device())),
                                           make_local_group(processes)[0],
                                           {}});
  };
  CHECK_NOTHROW(group({0, 1}, 1, 2));
  CHECK_THROWS_WITH(group({0, 1}, 2, 2), Contains("do not fit"));
  CHECK_THROWS_WITH(group({0, 1}, 1, 1), Contains("do not fit"));
  CHECK_THROWS_WITH(make_hierarchical_device_group({{0}, nullptr, nullptr, {}}), Contains("needs a group inside"));
  DeviceHierarchy parts{{0, 1}, make_device_group({test_device()}), make_local_group(2)[0], {}};
  parts.machine = make_device_group({test_device(), test_device()});
  CHECK_THROWS_WITH(make_hierarchical_device_group(parts), Contains("do not fit"));
}
