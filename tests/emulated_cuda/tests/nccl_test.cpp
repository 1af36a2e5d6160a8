#include <memory>
#include <string>
#include <thread>

#include "nccl.h"
#include "troupe/tests/emulated_cuda/tests/program.hpp"
#include "troupe/tests/limits.hpp"

namespace {

constexpr int kRanks = 3;

/// A stream and two arrays of one rank.
struct Rank {
  explicit Rank(int device) : stream(device) {}
  TestStream stream;
  DeviceArray<float> in{12}, out{12};
};

struct Ranks {
  std::vector<std::unique_ptr<Rank>> ranks;
  ncclComm_t comms[kRanks] = {};

  Ranks() {
    for (int i = 0; i < kRanks; ++i) {
      ranks.push_back(std::make_unique<Rank>(i));
      std::vector<float> values(12, static_cast<float>(i + 1));
      cudaMemcpyAsync(ranks.back()->in, values.data(), 48, cudaMemcpyHostToDevice, ranks.back()->stream);
    }
  }
  Rank& operator[](int i) { return *ranks[static_cast<std::size_t>(i)]; }
  std::vector<float> result(int i) { return (*this)[i].out.values((*this)[i].stream); }
  void init_all() { REQUIRE(ncclCommInitAll(comms, kRanks, nullptr) == ncclSuccess); }
};

ncclResult_t state_of(ncclComm_t comm) {
  ncclResult_t state = ncclSuccess;
  CHECK(troupe::testing::eventually(
      [&] { return ncclCommGetAsyncError(comm, &state) != ncclSuccess || state != ncclInProgress; }));
  return state;
}

}  // namespace

TEST_CASE("three devices reduce, scatter, gather and send", "[nccl]") {
  Ranks ranks;
  ranks.init_all();
  const auto in_group = [&](auto call) {
    REQUIRE(ncclGroupStart() == ncclSuccess);
    for (int i = 0; i < kRanks; ++i) {
      Rank& rank = ranks[i];
      REQUIRE(call(i, static_cast<float*>(rank.in), static_cast<float*>(rank.out), rank.stream) == ncclSuccess);
    }
    REQUIRE(ncclGroupEnd() == ncclSuccess);
  };
  in_group([&](int i, float* in, float* out, cudaStream_t stream) {
    return ncclAllReduce(in, out, 12, ncclFloat32, ncclSum, ranks.comms[i], stream);
  });
  for (int i = 0; i < kRanks; ++i) REQUIRE(ranks.result(i) == std::vector<float>(12, 6));
  in_group([&](int i, float* in, float* out, cudaStream_t stream) {
    return ncclReduceScatter(in, out, 4, ncclFloat32, ncclMax, ranks.comms[i], stream);
  });
  in_group([&](int i, float*, float* out, cudaStream_t stream) {
    return ncclAllGather(out, out, 4, ncclFloat32, ranks.comms[i], stream);
  });
  for (int i = 0; i < kRanks; ++i) REQUIRE(ranks.result(i) == std::vector<float>(12, 3));
  in_group([&](int i, float* in, float* out, cudaStream_t stream) {
    const ncclResult_t sent = ncclSend(in, 12, ncclFloat32, (i + 1) % kRanks, ranks.comms[i], stream);
    return sent != ncclSuccess ? sent : ncclRecv(out, 12, ncclFloat32, (i + 2) % kRanks, ranks.comms[i], stream);
  });
  for (int i = 0; i < kRanks; ++i) {
    REQUIRE(ranks.result(i) == std::vector<float>(12, static_cast<float>((i + 2) % kRanks + 1)));
    REQUIRE(ncclCommDestroy(ranks.comms[i]) == ncclSuccess);
  }
}

TEST_CASE("captured collectives of several threads", "[nccl]") {
  Ranks ranks;
  ncclUniqueId id;
  REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
  const auto run = [&](int i) {
    cudaSetDevice(i);
    ncclComm_t& comm = ranks.comms[i];
    if (ncclCommInitRank(&comm, kRanks, id, i) != ncclSuccess) return;
    Rank& rank = ranks[i];
    cudaStreamBeginCapture(rank.stream, cudaStreamCaptureModeThreadLocal);
    ncclAllReduce(rank.in, rank.out, 12, ncclFloat32, ncclSum, comm, rank.stream);
    ncclAllReduce(rank.out, rank.in, 12, ncclFloat32, ncclMax, comm, rank.stream);
    cudaGraph_t graph = nullptr;
    cudaStreamEndCapture(rank.stream, &graph);
    cudaGraphExec_t exec = nullptr;
    cudaGraphInstantiate(&exec, graph);
    cudaGraphDestroy(graph);
    cudaGraphLaunch(exec, rank.stream);
    cudaGraphLaunch(exec, rank.stream);
    cudaStreamSynchronize(rank.stream);
    cudaGraphExecDestroy(exec);
    ncclCommDestroy(comm);
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kRanks; ++i) threads.emplace_back(run, i);
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < kRanks; ++i) REQUIRE(ranks.result(i) == std::vector<float>(12, 18));
}

TEST_CASE("an abort releases the rank that waits", "[nccl]") {
  Ranks ranks;
  ncclUniqueId id;
  REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  for (int i = 0; i < kRanks; ++i) {
    cudaSetDevice(i);
    REQUIRE(ncclCommInitRankConfig(&ranks.comms[i], kRanks, id, i, &config) == ncclInProgress);
    ncclResult_t state = ncclSuccess;
    REQUIRE(ncclCommGetAsyncError(ranks.comms[i], &state) == ncclSuccess);
    REQUIRE((state == ncclInProgress) == (i < kRanks - 1));
  }
  for (int i = 0; i < kRanks - 1; ++i) {
    const ncclResult_t begun =
        ncclAllReduce(ranks[i].in, ranks[i].out, 12, ncclFloat32, ncclSum, ranks.comms[i], ranks[i].stream);
    REQUIRE((begun == ncclSuccess || begun == ncclInProgress));
    REQUIRE(state_of(ranks.comms[i]) == ncclSuccess);
  }
  REQUIRE(cudaStreamQuery(ranks[0].stream) == cudaErrorNotReady);
  for (int i = 0; i < kRanks; ++i) REQUIRE(ncclCommAbort(ranks.comms[i]) == ncclSuccess);
  for (int i = 0; i < kRanks; ++i) REQUIRE(cudaStreamSynchronize(ranks[i].stream) == cudaSuccess);
  cudaGetLastError();
}

TEST_CASE("ranks that disagree, and two ranks on a device", "[nccl]") {
  Ranks ranks;
  ranks.init_all();
  for (int i = 0; i < kRanks; ++i) {
    const std::size_t count = i == 1 ? 6 : 12;
    REQUIRE(ncclAllReduce(ranks[i].in, ranks[i].out, count, ncclFloat32, ncclSum, ranks.comms[i], ranks[i].stream) ==
            ncclSuccess);
  }
  for (int i = 0; i < kRanks; ++i) {
    REQUIRE(cudaStreamSynchronize(ranks[i].stream) == cudaSuccess);
    REQUIRE(state_of(ranks.comms[i]) == ncclInvalidUsage);
    REQUIRE(ncclCommAbort(ranks.comms[i]) == ncclSuccess);
  }
  const int devices[] = {0, 0};
  REQUIRE(ncclCommInitAll(ranks.comms, 2, devices) == ncclInvalidUsage);
  REQUIRE_THAT(std::string(ncclGetLastError(nullptr)), Contains("Duplicate GPU detected"));
}
