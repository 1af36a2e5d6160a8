#include "troupe/transport/device/share_bytes.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/reserved_port.hpp"
#include "troupe/tests/scheduling_probe.hpp"
#include "troupe/transport/nccl/nccl_group.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

using Bytes = std::vector<std::byte>;

constexpr std::chrono::milliseconds kShort{100};

const Bytes kBytes(128, std::byte{7});

/// A path that does not exist, and will not afterwards.
struct TemporaryPath {
  std::string path = (std::filesystem::temp_directory_path() / ("troupe-share-" + std::to_string(getpid()))).string();
  TemporaryPath() { std::filesystem::remove(path); }
  ~TemporaryPath() { std::filesystem::remove(path); }
};

std::string error_of_sharing(const std::string& address, int rank, const Bytes& bytes,
                             std::chrono::milliseconds limit) {
  try {
    device::share_by_tcp(address, rank, 4, bytes, limit);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

/// Ranks 0 and 1 of four come, and rank 0 waits for this long. Returns what is wrong.
std::string miss_two_ranks(std::chrono::milliseconds limit) {
  const auto address = new_address();
  auto first = std::async(std::launch::async, [&] { return error_of_sharing(address, 1, {}, 2 * limit); });
  const auto error = error_of_sharing(address, 0, kBytes, limit);
  if (error.find("ranks 2, 3 did not come to '" + address + "' in time") == std::string::npos) return "'" + error + "'";
  return first.get();
}

}  // namespace

TEST_CASE("bytes of rank 0 reach all ranks through a file") {
  const TemporaryPath file;
  auto early = std::async(std::launch::async, [&] { return device::share_by_file(file.path, 1, {}, patience()); });
  CHECK(device::share_by_file(file.path, 0, kBytes, patience()) == kBytes);
  CHECK(early.get() == kBytes);
  CHECK(device::share_by_file(file.path, 2, {}, patience()) == kBytes);
  CHECK_THROWS_WITH(device::share_by_file(file.path, 0, kBytes, patience()), Contains("exists"));
}

TEST_CASE("a file that rank 0 does not write is missed") {
  const TemporaryPath file;
  CHECK_THROWS_WITH(device::share_by_file(file.path, 1, {}, kShort),
                    Contains("rank 0 has not written '" + file.path + "' within 100 ms"));
  CHECK_THROWS_WITH(device::share_by_file("/nowhere/" + file.path, 0, kBytes, kShort), Contains("cannot be written"));
}

TEST_CASE("bytes of rank 0 reach all ranks over TCP in any order of arrival, and strangers are no ranks") {
  const auto address = new_address();
  std::vector<std::future<Bytes>> ranks;
  for (int rank = 1; rank < 3; ++rank)
    ranks.push_back(
        std::async(std::launch::async, [&, rank] { return device::share_by_tcp(address, rank, 4, {}, patience()); }));
  auto stranger = std::async(std::launch::async, [&] {
    if (error_of_sharing(address, 4, {}, kShort).empty()) throw Error("test", "a stranger is served");
    return device::share_by_tcp(address, 3, 4, {}, patience());
  });
  CHECK(device::share_by_tcp(address, 0, 4, kBytes, patience()) == kBytes);
  for (auto& rank : ranks) CHECK(rank.get() == kBytes);
  CHECK(stranger.get() == kBytes);
}

TEST_CASE("ranks that do not come over TCP are named") {
  CHECK(keeps_promise(std::chrono::milliseconds(500), miss_two_ranks) == "");
  const auto address = new_address();
  CHECK_THROWS_WITH(device::share_by_tcp(address, 1, 4, {}, kShort),
                    Contains("rank 1 has not met rank 0 at '" + address + "' within 100 ms"));
  CHECK_THROWS_WITH(device::share_by_tcp("localhost", 1, 4, {}, kShort), Contains("'localhost' is no address"));
}

TEST_CASE("rank 0 refuses to share more bytes over TCP than the other ranks accept") {
  CHECK_THROWS_WITH(device::share_by_tcp(new_address(), 0, 4, Bytes(65'537), kShort),
                    Contains("65537 bytes are too many"));
}

TEST_CASE("an id of NCCL is read from the file of rank 0, and nothing shorter or longer is") {
  const TemporaryPath file;
  NcclId id{};
  for (std::size_t i = 0; i < id.size(); ++i) id[i] = static_cast<std::byte>(i + 1);
  for (const std::size_t size : {id.size(), id.size() - 1, id.size() + 1}) {
    Bytes bytes(size, std::byte{9});
    std::copy_n(id.begin(), std::min(size, id.size()), bytes.begin());
    device::share_by_file(file.path, 0, bytes, patience());
    if (size == id.size())
      CHECK(share_nccl_id_by_file(file.path, 1, patience()) == id);
    else
      CHECK_THROWS_WITH(share_nccl_id_by_file(file.path, 1, patience()),
                        Contains("[nccl] an id has 128 bytes, but " + std::to_string(size) + " came"));
    std::filesystem::remove(file.path);
  }
  CHECK_THROWS_WITH(share_nccl_id_by_file(file.path, 1, kShort), Contains("rank 0 has not written"));
}

TEST_CASE("without NCCL all ranks learn that rank 0 has no id") {
  if (has_nccl()) return;
  const auto group = make_local_group(2);
  auto second = std::async(std::launch::async, [&] { return share_nccl_id(*group[1], patience()); });
  CHECK_THROWS_WITH(share_nccl_id(*group[0], patience()),
                    Contains("rank 0 has no id: [nccl]") || Contains("cannot be loaded"));
  CHECK_THROWS_AS(second.get(), Error);
  const TemporaryPath file;
  CHECK_THROWS_AS(share_nccl_id_by_file(file.path, 0, patience()), Error);
  CHECK_FALSE(std::filesystem::exists(file.path));
  CHECK_THROWS_AS(make_nccl_group({Device{}}), Error);
  CHECK_FALSE(suits_nccl({Device{DeviceType::cuda, 0}}));
}
