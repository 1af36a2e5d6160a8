#include "troupe/transport/device/share_bytes.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/transport/nccl_group.hpp"

using namespace troupe;

namespace {

using Bytes = std::vector<std::byte>;

constexpr std::chrono::milliseconds kLimit{20'000}, kShort{100};

const Bytes kBytes(128, std::byte{7});

/// A path that does not exist, and will not afterwards.
struct TemporaryPath {
  std::string path = (std::filesystem::temp_directory_path() / ("troupe-share-" + std::to_string(getpid()))).string();
  TemporaryPath() { std::filesystem::remove(path); }
  ~TemporaryPath() { std::filesystem::remove(path); }
};

/// An address of this machine where nobody listens.
std::string free_address() {
  const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(bind(descriptor, reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  close(descriptor);
  return "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
}

}  // namespace

TEST_CASE("bytes of rank 0 reach all ranks through a file") {
  const TemporaryPath file;
  auto early = std::async(std::launch::async, [&] { return device::share_by_file(file.path, 1, {}, kLimit); });
  CHECK(device::share_by_file(file.path, 0, kBytes, kLimit) == kBytes);
  CHECK(early.get() == kBytes);
  CHECK(device::share_by_file(file.path, 2, {}, kLimit) == kBytes);
  CHECK_THROWS_WITH(device::share_by_file(file.path, 0, kBytes, kLimit), Contains("exists"));
}

TEST_CASE("a file that rank 0 does not write is missed") {
  const TemporaryPath file;
  CHECK_THROWS_WITH(device::share_by_file(file.path, 1, {}, kShort),
                    Contains("rank 0 has not written '" + file.path + "' within 100 ms"));
  CHECK_THROWS_WITH(device::share_by_file("/nowhere/" + file.path, 0, kBytes, kShort), Contains("cannot be written"));
}

TEST_CASE("bytes of rank 0 reach all ranks over TCP, whoever comes first, and strangers are no ranks") {
  const auto address = free_address();
  std::vector<std::future<Bytes>> ranks;
  for (int rank = 1; rank < 3; ++rank)
    ranks.push_back(
        std::async(std::launch::async, [&, rank] { return device::share_by_tcp(address, rank, 4, {}, kLimit); }));
  auto stranger = std::async(std::launch::async, [&] {
    CHECK_THROWS_AS(device::share_by_tcp(address, 4, 4, {}, kShort), Error);
    return device::share_by_tcp(address, 3, 4, {}, kLimit);
  });
  CHECK(device::share_by_tcp(address, 0, 4, kBytes, kLimit) == kBytes);
  for (auto& rank : ranks) CHECK(rank.get() == kBytes);
  CHECK(stranger.get() == kBytes);
}

TEST_CASE("ranks that do not come over TCP are named") {
  const auto address = free_address();
  auto first = std::async(std::launch::async, [&] { return device::share_by_tcp(address, 1, 4, {}, kLimit); });
  CHECK_THROWS_WITH(device::share_by_tcp(address, 0, 4, kBytes, std::chrono::milliseconds(500)),
                    Contains("ranks 2, 3 did not come to '" + address + "' in time"));
  CHECK(first.get() == kBytes);
  CHECK_THROWS_WITH(device::share_by_tcp(address, 1, 4, {}, kShort),
                    Contains("rank 1 has not met rank 0 at '" + address + "' within 100 ms"));
  CHECK_THROWS_WITH(device::share_by_tcp("localhost", 1, 4, {}, kShort), Contains("'localhost' is no address"));
}

TEST_CASE("without NCCL all ranks learn that rank 0 has no id") {
  if (has_nccl()) return;
  const auto group = make_local_group(2);
  auto second = std::async(std::launch::async, [&] { CHECK_THROWS_AS(share_nccl_id(*group[1], kLimit), Error); });
  CHECK_THROWS_WITH(share_nccl_id(*group[0], kLimit),
                    Contains("rank 0 has no id: [nccl]") || Contains("cannot be loaded"));
  second.get();
  CHECK_THROWS_AS(make_nccl_group({Device{}}), Error);
  CHECK_FALSE(suits_nccl({Device{DeviceType::cuda, 0}}));
}
