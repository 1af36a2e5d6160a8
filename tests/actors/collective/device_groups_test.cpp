#include "troupe/actors/collective/device_groups.hpp"

#include <cstdlib>
#include <cstring>
#include <future>
#include <map>
#include <mutex>
#include <set>

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/expect.hpp"
#include "troupe/tests/gpu.hpp"
#include "troupe/tests/test_device/test_device.hpp"
#include "troupe/tests/transport/device_groups.hpp"
#include "troupe/transport/nccl/nccl_group.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

// Where GPUs are emulated, so many.
[[maybe_unused]] const bool kChosen = setenv("EMULATED_CUDA_DEVICES", "4", 0) == 0;

/// Where threads that stand for processes meet, and what for.
class MeetingPlace {
 public:
  explicit MeetingPlace(std::vector<std::string> machines) : machines_(std::move(machines)) {}

  Meeting of(int process) {
    const auto make_across = [this, process](const std::string& name, const std::vector<int>& processes) {
      std::lock_guard lock(mutex_);
      asked_[process].insert(name);
      auto& group = groups_[name];
      if (group.empty()) group = make_local_group(static_cast<int>(processes.size()));
      return group.at(static_cast<std::size_t>(std::ranges::find(processes, process) - processes.begin()));
    };
    const auto machine_of = [this](int other) { return machines_.at(static_cast<std::size_t>(other)); };
    return {.make_across = make_across, .machine_of = machine_of};
  }

  std::set<std::string> asked_by(int process) { return asked_[process]; }

 private:
  const std::vector<std::string> machines_;
  std::mutex mutex_;
  std::map<std::string, std::vector<std::shared_ptr<Communicator>>> groups_;
  std::map<int, std::set<std::string>> asked_;
};

void check_sums(Communicator& group) {
  const auto here = group.local().size();
  for (const auto dtype : {DType::int32, DType::int64})
    for (const std::int64_t count : {1, 33, 5000}) {
      const auto parts = parts_of(group, dtype, count);
      wait_for(*group.all_reduce(parts), here);
      for (const auto& part : parts)
        expect(bytes_of(part.input) == summed_on_host(dtype, count, group.size()), "a sum is wrong");
    }
  auto parts = parts_of(group, DType::int32, group.size() * 19);
  for (std::size_t i = 0; i < here; ++i) parts[i].output = Tensor(Shape{19}, DType::int32, group.local()[i].device);
  wait_for(*group.reduce_scatter(parts), here);
  const auto sum = summed_on_host(DType::int32, group.size() * 19, group.size());
  for (std::size_t i = 0; i < here; ++i)
    expect(std::memcmp(sum.data() + group.local()[i].rank * 76, bytes_of(parts[i].output).data(), 76) == 0,
           "a scattered sum is wrong");
}

void check_copies(Communicator& group) {
  const auto here = group.local().size();
  for (int root = 0; root < group.size(); ++root) {
    const auto parts = parts_of(group, DType::uint8, 33);
    wait_for(*group.broadcast(parts, root), here);
    for (const auto& part : parts)
      expect(bytes_of(part.input) == bytes_of(numbers_of(DType::uint8, 33, root)), "a broadcast is wrong");
  }
  auto parts = parts_of(group, DType::float32, 19);
  for (std::size_t i = 0; i < here; ++i)
    parts[i].output = Tensor(Shape{group.size() * 19}, DType::float32, group.local()[i].device);
  wait_for(*group.all_gather(parts), here);
  for (const auto& part : parts)
    for (int rank = 0; rank < group.size(); ++rank)
      expect(std::memcmp(bytes_of(part.output).data() + rank * 76,
                         bytes_of(numbers_of(DType::float32, 19, rank)).data(), 76) == 0,
             "a gather is wrong");
}

/// Makes the group in three processes, which are threads, and checks what it computes. Returns what each process asked
/// the others for.
std::vector<std::set<std::string>> check_group(const std::vector<Device>& devices,
                                               const std::vector<std::string>& machines) {
  const PlanCommunicator named{
      .name = "sums", .processes = {0, 1, 2, 0}, .all_reduce = AllReduceAlgorithm::hierarchy, .devices = devices};
  MeetingPlace place(machines);
  std::vector<std::future<void>> ends;
  for (int process = 0; process < 3; ++process)
    ends.push_back(std::async(std::launch::async, [&, process] {
      const auto group = make_device_communicator(named, process, place.of(process));
      check_sums(*group);
      check_copies(*group);
    }));
  for (auto& end : ends) CHECK_NOTHROW(end.get());
  return {place.asked_by(0), place.asked_by(1), place.asked_by(2)};
}

std::vector<Device> devices_of(DeviceType type, const std::vector<int>& indices) {
  std::vector<Device> devices;
  for (const int index : indices) devices.push_back({type, index});
  return devices;
}

const std::set<std::string> kOneGroup{""};

}  // namespace

TEST_CASE("processes of one machine whose devices NCCL does not know sum on the host") {
  register_test_devices();
  for (const auto& asked : check_group(devices_of(DeviceType::test, {0, 1, 2, 3}), {"a", "b", "a"}))
    CHECK(asked == kOneGroup);
}

TEST_CASE("GPUs of one machine sum over NCCL, also those of several processes, and machines over the host", "[.gpu]") {
  if (!gpu(3)) return;
  if (!has_nccl()) {
    skip("NCCL is needed");
    return;
  }
  const auto devices = devices_of(DeviceType::cuda, {0, 1, 2, 3});
  const auto asked = check_group(devices, {"a", "b", "a"});
  const std::set<std::string> member{"/all", "/machine 0", "/machine 0 out", "/machine 0 over nccl"};
  auto first = member;
  first.insert("/across");
  CHECK(asked == std::vector{first, {"/all", "/across"}, member});
  for (const auto& on_one_machine : check_group(devices, {"a", "a", "a"}))
    CHECK(on_one_machine == std::set<std::string>{"/machine 0 over nccl"});
  for (const auto& alone : check_group(devices, {"a", "b", "c"})) CHECK(alone == kOneGroup);
}

TEST_CASE("GPUs with the same number in two processes sum on the host", "[.gpu]") {
  if (!gpu(1)) return;
  for (const auto& asked : check_group(devices_of(DeviceType::cuda, {0, 0, 0, 1}), {"a", "b", "a"}))
    CHECK(asked == kOneGroup);
}
