#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <future>
#include <thread>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/half.hpp"
#include "troupe/tests/gpu.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/transport/device_groups.hpp"
#include "troupe/tests/transport/groups.hpp"
#include "troupe/transport/hierarchy/hierarchical_device_group.hpp"
#include "troupe/transport/nccl/nccl_group.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

// Where GPUs are emulated, so many.
[[maybe_unused]] const bool kChosen = setenv("EMULATED_CUDA_DEVICES", "4", 0) == 0;

constexpr std::chrono::milliseconds kShort{300};

/// The first GPUs, at most four; none, with a line that says so, where there is no NCCL or fewer than `least` GPUs.
std::vector<Device> gpus(int least) {
  std::vector<Device> found;
  if (!gpu(least - 1)) return found;
  if (!has_nccl()) {
    skip("NCCL is needed");
    return found;
  }
  for (int i = 0; i < std::min(4, device_count(DeviceType::cuda)); ++i) found.push_back({DeviceType::cuda, i});
  return found;
}

template <class T>
std::vector<double> doubles(const Tensor& host) {
  std::vector<double> values;
  for (const auto& element : host.data<T>()) values.push_back(static_cast<double>(static_cast<float>(element)));
  return values;
}

std::vector<double> values_of(const Tensor& tensor) {
  const auto host = tensor.copy_to_host();
  switch (host.dtype()) {
    case DType::int32:
      return doubles<std::int32_t>(host);
    case DType::int64:
      return doubles<std::int64_t>(host);
    case DType::float16:
      return doubles<Float16>(host);
    case DType::bfloat16:
      return doubles<BFloat16>(host);
    default:
      return doubles<float>(host);
  }
}

/// True if a tensor holds the sum of all ranks' numbers, added in any order.
bool is_about_sum(const Tensor& tensor, int ranks) {
  const auto count = tensor.elements();
  std::vector<double> sum(static_cast<std::size_t>(count), 0.0);
  for (int rank = 0; rank < ranks; ++rank) {
    const auto values = values_of(numbers_of(tensor.dtype(), count, rank));
    std::transform(sum.begin(), sum.end(), values.begin(), sum.begin(), std::plus<>());
  }
  const auto dtype = tensor.dtype();
  const auto tolerance = dtype == DType::bfloat16  ? 2.0
                         : dtype == DType::float16 ? 0.25
                         : dtype == DType::float32 ? 1e-4
                                                   : 0.0;
  const auto values = values_of(tensor);
  return std::ranges::equal(values, sum, [&](double a, double b) { return std::abs(a - b) <= tolerance; });
}

/// What each of some processes does, on a thread of its own. Rethrows what one of them throws.
void on_threads(std::size_t count, const std::function<void(std::size_t)>& function) {
  std::vector<std::future<void>> running;
  for (std::size_t i = 0; i < count; ++i) running.push_back(std::async(std::launch::async, function, i));
  for (auto& one : running) one.wait();
  for (auto& one : running) one.get();
}

/// A group of one rank a process, all in this one.
std::vector<std::shared_ptr<Communicator>> one_rank_each(const std::vector<Device>& devices,
                                                         std::chrono::milliseconds limit) {
  std::vector<std::shared_ptr<Communicator>> groups(devices.size());
  const auto id = make_nccl_id();
  on_threads(devices.size(), [&](std::size_t i) {
    groups[i] = make_nccl_group({.size = static_cast<int>(devices.size()),
                                 .local = {{static_cast<int>(i), devices[i]}},
                                 .id = id,
                                 .limit = limit});
  });
  return groups;
}

}  // namespace

TEST_CASE("GPUs sum over NCCL, to the same bits on all ranks", "[gpu]") {
  const auto devices = gpus(1);
  for (std::size_t ranks = 1; ranks <= devices.size(); ++ranks) {
    const auto group = make_nccl_group({devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(ranks)});
    for (const auto dtype : {DType::float32, DType::int32, DType::int64, DType::float16, DType::bfloat16})
      for (const std::int64_t count : {0, 1, 5, 1001}) {
        INFO(ranks << " ranks, " << count << " " << name_of(dtype));
        const auto parts = parts_of(*group, dtype, count);
        wait_for(*group->all_reduce(parts), ranks);
        for (const auto& part : parts) {
          CHECK(is_about_sum(part.input, static_cast<int>(ranks)));
          CHECK(bytes_of(part.input) == bytes_of(parts[0].input));
        }
      }
  }
}

TEST_CASE("GPUs broadcast, gather, scatter and scatter sums over NCCL", "[gpu]") {
  const auto devices = gpus(1);
  if (devices.empty()) return;
  const auto group = make_nccl_group(devices);
  const auto size = group->size();
  for (int root = 0; root < size; ++root) {
    const auto parts = parts_of(*group, DType::uint8, 33);
    wait_for(*group->broadcast(parts, root), devices.size());
    for (const auto& part : parts) CHECK(bytes_of(part.input) == bytes_of(numbers_of(DType::uint8, 33, root)));
    const auto cut = scatter_parts_of(*group, DType::float32, 19, root);
    wait_for(*group->scatter(cut, root), devices.size());
    for (std::size_t i = 0; i < devices.size(); ++i)
      CHECK(is_scattered(cut[i].output, size, static_cast<int>(i), root));
  }
  auto gathered = parts_of(*group, DType::float32, 19), scattered = parts_of(*group, DType::int32, size * 19);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    gathered[i].output = Tensor(Shape{size * 19}, DType::float32, devices[i]);
    scattered[i].output = Tensor(Shape{19}, DType::int32, devices[i]);
  }
  wait_for(*group->all_gather(gathered), devices.size());
  wait_for(*group->reduce_scatter(scattered), devices.size());
  const auto sum = summed_on_host(DType::int32, size * 19, size);
  std::vector<std::byte> all;
  for (int rank = 0; rank < size; ++rank) {
    const auto bytes = bytes_of(numbers_of(DType::float32, 19, rank));
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const auto first = sum.begin() + static_cast<std::ptrdiff_t>(i) * 76;
    CHECK(bytes_of(gathered[i].output) == all);
    CHECK(bytes_of(scattered[i].output) == std::vector<std::byte>(first, first + 76));
  }
}

TEST_CASE("collectives over NCCL follow what they wait for", "[gpu]") {
  constexpr std::int64_t kCount = 100'000;
  constexpr int kSteps = 10;
  const auto devices = gpus(1);
  if (devices.empty()) return;
  const auto group = make_nccl_group(devices);
  std::vector<Part> parts;
  std::vector<Tensor> host, results;
  std::vector<std::unique_ptr<Stream>> streams;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    parts.emplace_back().input = Tensor(Shape{kCount}, DType::int32, devices[i]);
    streams.push_back(backend_of(devices[i]).make_stream(devices[i]));
    host.push_back(Tensor::pinned(Shape{kCount}, DType::int32, devices[i]));
    const auto numbers = numbers_of(DType::int32, kCount, static_cast<int>(i));
    std::copy_n(numbers.raw(), numbers.bytes(), host[i].mutable_raw());
  }
  for (int step = 0; step < kSteps; ++step) {
    for (std::size_t i = 0; i < devices.size(); ++i) {
      streams[i]->copy(parts[i].input.address(), host[i].address(), host[i].bytes());
      parts[i].ready = streams[i]->record();
    }
    const auto work = group->all_reduce(parts);
    for (std::size_t i = 0; i < devices.size(); ++i) {
      results.push_back(Tensor::pinned(Shape{kCount}, DType::int32, devices[i]));
      streams[i]->wait(work->done(i));
      streams[i]->copy(results.back().address(), parts[i].input.address(), results.back().bytes());
      streams[i]->zero(parts[i].input.address(), parts[i].input.bytes());
    }
  }
  for (const auto& stream : streams) stream->record().wait();
  for (const auto& result : results) CHECK(is_about_sum(result, group->size()));
}

TEST_CASE("GPUs of several processes meet over NCCL", "[gpu]") {
  const auto devices = gpus(2);
  if (devices.empty()) return;
  // The first process has all ranks but the last.
  const auto last = static_cast<int>(devices.size()) - 1;
  std::vector<std::vector<DeviceRank>> local{{}, {{last, devices[last]}}};
  for (int rank = 0; rank < last; ++rank) local[0].push_back({rank, devices[rank]});
  const auto across = make_local_group(2);
  std::vector<std::shared_ptr<Communicator>> groups(2);
  on_threads(2, [&](std::size_t process) {
    const auto id = share_nccl_id(*across[process], patience());
    groups[process] = make_nccl_group({.size = last + 1, .local = local[process], .id = id});
  });
  // Freeing memory waits for collectives: here also for those of the other process, which is this one.
  std::vector<std::vector<Part>> parts;
  for (int i = 0; i < 10; ++i) parts.push_back(parts_of(*groups[i % 2], DType::int64, 1000));
  std::vector<std::shared_ptr<Work>> works;
  for (int i = 0; i < 10; ++i) works.push_back(groups[i % 2]->all_reduce(parts[i]));
  for (int i = 0; i < 10; ++i) wait_for(*works[i], groups[i % 2]->local().size());
  for (const auto& of_process : parts)
    for (const auto& part : of_process) CHECK(is_about_sum(part.input, last + 1));
}

TEST_CASE("a rank that does not come is missed by NCCL's ranks, and the device goes on", "[gpu]") {
  const auto devices = gpus(2);
  if (devices.empty()) return;
  const auto groups = one_rank_each({devices[0], devices[1]}, kShort);
  std::promise<FailurePtr> told;
  groups[0]->on_failed([&](const FailurePtr& failure) { told.set_value(failure); });
  const auto parts = parts_of(*groups[0], DType::float32, 1000);
  const auto work = groups[0]->all_reduce(parts);
  CHECK(work->waits_for() ==
        "all_reduce of 1000 float32 (collective 0): rank 0 (cuda:0) waits for rank 1 of other processes");
  auto failure = told.get_future();
  REQUIRE(failure.wait_for(patience()) == std::future_status::ready);
  CHECK_THAT(to_string(*failure.get()), Contains("not complete after 300 ms: all_reduce of 1000 float32") &&
                                            Contains("waits for rank 1 of other processes"));
  CHECK(work->done(0).state()->wait_for(patience()));
  CHECK_THROWS_AS(groups[0]->all_reduce(parts), Aborted);
}

TEST_CASE("an abort ends collectives of NCCL from another thread", "[gpu]") {
  const auto devices = gpus(2);
  if (devices.empty()) return;
  const auto groups = one_rank_each({devices[0], devices[1]}, patience());
  const auto parts = parts_of(*groups[0], DType::float32, 1000);
  const auto work = groups[0]->all_reduce(parts);
  const auto lost =
      std::make_shared<Failure>(Failure{.kind = FailureKind::part_died, .what = "[cluster] rank 1 is gone"});
  std::thread([&] { groups[0]->abort(lost); }).join();
  CHECK(work->done(0).state()->wait_for(patience()));
  CHECK(groups[0]->failure() == lost);
  CHECK_THROWS_WITH(groups[0]->all_reduce(parts), Contains("rank 1 is gone"));
}

TEST_CASE("a rank that leaves a group of several processes over NCCL fails the group, so that its run is given up",
          "[gpu]") {
  const auto devices = gpus(2);
  if (devices.empty()) return;
  const auto groups = one_rank_each({devices[0], devices[1]}, patience());
  std::promise<FailurePtr> told;
  groups[0]->on_failed([&](const FailurePtr& failure) { told.set_value(failure); });
  const auto bad = std::make_shared<Failure>(Failure{.what = "[dataset] row 40 is bad"});
  groups[0]->leave(bad);
  auto failure = told.get_future();
  REQUIRE(failure.wait_for(patience()) == std::future_status::ready);
  CHECK(failure.get() == bad);
  CHECK_THROWS_WITH(groups[0]->all_reduce(parts_of(*groups[0], DType::float32, 1000)), Contains("row 40 is bad"));
  groups[1]->abort(bad);
}

TEST_CASE("ranks that disagree end their groups, or the limit does", "[gpu]") {
  const auto devices = gpus(2);
  if (devices.empty()) return;
  const auto groups = one_rank_each({devices[0], devices[1]}, kShort);
  const auto of_first = parts_of(*groups[0], DType::float32, 1000), of_second = parts_of(*groups[1], DType::float32, 7);
  std::promise<FailurePtr> told;
  groups[0]->on_failed([&](const FailurePtr& failure) { told.set_value(failure); });
  const auto begin = [](Communicator& group, const std::vector<Part>& parts) {
    try {
      group.all_reduce(parts);
    } catch (const Error& error) {
      CHECK_THAT(error.what(), Contains("rank "));
    }
  };
  begin(*groups[0], of_first);
  begin(*groups[1], of_second);
  auto failure = told.get_future();
  REQUIRE(failure.wait_for(patience()) == std::future_status::ready);
  CHECK_THAT(to_string(*failure.get()), Contains("rank 0 (cuda:0)"));
}

TEST_CASE("NCCL's ranks that cannot meet say who", "[gpu]") {
  const auto devices = gpus(1);
  if (devices.empty()) return;
  CHECK_THROWS_WITH(make_nccl_group({.size = 2, .local = {{0, devices[0]}}, .id = make_nccl_id(), .limit = kShort}),
                    Contains("rank 0 (cuda:0): meeting the other ranks takes longer than 300 ms"));
  CHECK_THROWS_WITH(make_nccl_group({devices[0], devices[0]}), Contains("ranks 0 (cuda:0) and 1 (cuda:0) share a GPU"));
  CHECK_THROWS_WITH(make_nccl_group({Device{}}), Contains("rank 0 (cpu:0) is not on a GPU"));
  CHECK_THROWS_WITH(make_nccl_group({.size = 2, .local = {{2, devices[0]}}}), Contains("no rank 2 among 2"));
  CHECK(suits_nccl({devices[0]}));
  CHECK_FALSE(suits_nccl({devices[0], devices[0]}));
  CHECK_FALSE(suits_nccl({Device{}}));
}

TEST_CASE("GPUs of several processes sum over NCCL inside and the host across", "[gpu]") {
  const auto devices = gpus(1);
  if (devices.empty()) return;
  // One GPU serves two processes, each with a group of its own.
  const auto across = make_local_group(2);
  std::vector<Device> here(devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>((devices.size() + 1) / 2));
  const auto inner = static_cast<int>(here.size());
  std::vector<int> process_of(static_cast<std::size_t>(2 * inner));
  for (int rank = 0; rank < 2 * inner; ++rank) process_of[rank] = rank / inner;
  on_threads(2, [&](std::size_t process) {
    const auto group = make_hierarchical_device_group({process_of, make_nccl_group(here), across[process], {}});
    for (const std::int64_t count : {1, 1000, 100'003}) {
      const auto parts = parts_of(*group, DType::int32, count);
      wait_for(*group->all_reduce(parts), here.size());
      for (const auto& part : parts)
        if (!is_about_sum(part.input, 2 * inner)) throw Error("test", "a sum is wrong");
    }
  });
}
