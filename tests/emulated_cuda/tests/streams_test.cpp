#include <atomic>
#include <thread>

#include "troupe/tests/emulated_cuda/tests/program.hpp"

namespace {

__global__ void add_one(int* data, int count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < static_cast<unsigned>(count)) data[i] += 1;
}

__global__ void multiply(int* data, int factor) {
  *data *= factor;
}

__global__ void sum_of_two(const int* a, const int* b, int* out) {
  *out = *a + *b;
}

/// A point at which a stream waits for the host.
class Gate {
 public:
  static void pass(void* gate) { static_cast<Gate*>(gate)->is_open_.wait(false); }
  void open() {
    is_open_ = true;
    is_open_.notify_all();
  }

 private:
  std::atomic<bool> is_open_{false};
};

}  // namespace

TEST_CASE("streams go their own way until an event orders them", "[stream]") {
  TestStream first, second;
  TestEvent event;
  DeviceArray<int> number(std::vector<int>{1});
  Gate gate;
  REQUIRE(cudaStreamWaitEvent(second, event) == cudaSuccess);
  REQUIRE(cudaLaunchHostFunc(first, &Gate::pass, &gate) == cudaSuccess);
  REQUIRE(launch(first, 1, 1, add_one, number, 1) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(second) == cudaSuccess);
  REQUIRE(cudaEventRecord(event, first) == cudaSuccess);
  REQUIRE(cudaEventQuery(event) == cudaErrorNotReady);
  REQUIRE(cudaStreamWaitEvent(second, event) == cudaSuccess);
  REQUIRE(launch(second, 1, 1, multiply, number, 10) == cudaSuccess);
  REQUIRE(cudaStreamQuery(second) == cudaErrorNotReady);
  gate.open();
  REQUIRE(number.values(second)[0] == 20);
  REQUIRE(cudaEventQuery(event) == cudaSuccess);
  cudaGetLastError();
}

TEST_CASE("a wait is for what was recorded when it was queued", "[stream]") {
  TestStream first, second;
  TestEvent event;
  DeviceArray<int> number(std::vector<int>{1});
  Gate gate;
  REQUIRE(cudaEventRecord(event, first) == cudaSuccess);
  REQUIRE(cudaStreamWaitEvent(second, event) == cudaSuccess);
  REQUIRE(cudaLaunchHostFunc(first, &Gate::pass, &gate) == cudaSuccess);
  REQUIRE(cudaEventRecord(event, first) == cudaSuccess);
  REQUIRE(launch(second, 1, 1, multiply, number, 7) == cudaSuccess);
  REQUIRE(number.values(second)[0] == 7);
  gate.open();
  REQUIRE(cudaEventSynchronize(event) == cudaSuccess);
}

TEST_CASE("handles of another device", "[stream]") {
  TestStream on_first(0), on_second(1);
  TestEvent of_second;
  DeviceArray<int> number(std::vector<int>{5});
  REQUIRE(cudaEventRecord(of_second, on_first) == cudaErrorInvalidResourceHandle);
  REQUIRE(cudaEventRecord(of_second, on_second) == cudaSuccess);
  REQUIRE(cudaStreamWaitEvent(on_first, of_second) == cudaSuccess);
  cudaSetDevice(0);
  DeviceArray<int> copy(1);
  REQUIRE(cudaMemcpyPeerAsync(copy, 0, number, 1, sizeof(int), on_second) == cudaSuccess);
  REQUIRE(copy.values(on_second)[0] == 5);
  REQUIRE(launch(on_second, 1, 1, add_one, number, 1) == cudaErrorInvalidResourceHandle);
  cudaGetLastError();
  cudaSetDevice(1);
}

TEST_CASE("a captured fork and join does as the same calls without a capture", "[graph]") {
  TestStream main_stream, side;
  TestEvent fork, join;
  DeviceArray<int> a(std::vector<int>{1}), b(std::vector<int>{2}), sum(1);
  const auto queue = [&] {
    launch(main_stream, 1, 1, add_one, a, 1);
    cudaEventRecord(fork, main_stream);
    cudaStreamWaitEvent(side, fork);
    launch(side, 1, 1, sum_of_two, a, b, b);
    launch(side, 1, 1, multiply, b, 2);
    cudaEventRecord(join, side);
    cudaMemsetAsync(sum, 0, sizeof(int), main_stream);
    cudaStreamWaitEvent(main_stream, join);
    launch(main_stream, 1, 1, sum_of_two, a, b, sum);
  };
  queue();
  REQUIRE(sum.values(main_stream)[0] == 2 + 2 * 4);
  REQUIRE(cudaStreamBeginCapture(main_stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  queue();
  cudaStreamCaptureStatus status;
  REQUIRE(cudaStreamIsCapturing(side, &status) == cudaSuccess);
  REQUIRE(status == cudaStreamCaptureStatusActive);
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaStreamEndCapture(main_stream, &graph) == cudaSuccess);
  std::size_t nodes = 0;
  REQUIRE(cudaGraphGetNodes(graph, nullptr, &nodes) == cudaSuccess);
  REQUIRE(nodes == 5);
  REQUIRE(sum.values(main_stream)[0] == 10);
  cudaGraphExec_t exec = nullptr;
  REQUIRE(cudaGraphInstantiate(&exec, graph) == cudaSuccess);
  REQUIRE(cudaGraphDestroy(graph) == cudaSuccess);
  int first = 2, second = 8;
  for (int i = 0; i < 5; ++i) {
    REQUIRE(cudaGraphLaunch(exec, i % 2 ? side : main_stream) == cudaSuccess);
    ++first;
    second = 2 * (first + second);
  }
  REQUIRE(cudaStreamSynchronize(side) == cudaSuccess);
  REQUIRE(sum.values(main_stream)[0] == first + second);
  REQUIRE(cudaGraphExecDestroy(exec) == cudaSuccess);
}

TEST_CASE("a capture may go on after other nodes than the last one", "[graph]") {
  TestStream stream;
  DeviceArray<int> a(std::vector<int>{1}), b(std::vector<int>{2}), sum(1);
  const auto last = [&] {
    cudaStreamCaptureStatus status;
    const cudaGraphNode_t* nodes = nullptr;
    size_t count = 0;
    REQUIRE(cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &nodes, nullptr, &count) == cudaSuccess);
    return std::vector<cudaGraphNode_t>(nodes, nodes + count);
  };
  const auto go_on_after = [&](std::vector<cudaGraphNode_t> nodes) {
    return cudaStreamUpdateCaptureDependencies(stream, nodes.data(), nullptr, nodes.size(),
                                               cudaStreamSetCaptureDependencies);
  };
  REQUIRE(go_on_after({}) == cudaErrorIllegalState);
  cudaGetLastError();
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
  REQUIRE(last().empty());
  launch(stream, 1, 1, add_one, a, 1);
  const auto of_a = last();
  REQUIRE(of_a.size() == 1);
  REQUIRE(go_on_after({}) == cudaSuccess);
  launch(stream, 1, 1, multiply, b, 3);
  const auto of_b = last();
  REQUIRE(of_b != of_a);
  REQUIRE(go_on_after({of_a[0], of_b[0]}) == cudaSuccess);
  launch(stream, 1, 1, sum_of_two, a, b, sum);
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  cudaGraphExec_t exec = nullptr;
  REQUIRE(cudaGraphInstantiate(&exec, graph) == cudaSuccess);
  REQUIRE(cudaGraphDestroy(graph) == cudaSuccess);
  for (int i = 0; i < 5; ++i) {
    REQUIRE(cudaGraphLaunch(exec, stream) == cudaSuccess);
    REQUIRE(sum.values(stream)[0] == a.values(stream)[0] + b.values(stream)[0]);
  }
  REQUIRE(a.values(stream)[0] == 6);
  REQUIRE(b.values(stream)[0] == 2 * 3 * 3 * 3 * 3 * 3);
  REQUIRE(cudaGraphExecDestroy(exec) == cudaSuccess);
}

TEST_CASE("what a capture forbids spoils it", "[graph]") {
  TestStream stream, side;
  TestEvent outside, inside;
  REQUIRE(cudaEventRecord(outside, side) == cudaSuccess);
  DeviceArray<int> number(std::vector<int>{1});
  const auto mode = GENERATE(cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal);
  REQUIRE(cudaStreamBeginCapture(stream, mode) == cudaSuccess);
  REQUIRE(cudaEventRecord(inside, stream) == cudaSuccess);
  cudaError_t at_end = cudaErrorStreamCaptureInvalidated;
  SECTION("memory") {
    void* memory = nullptr;
    REQUIRE(cudaMalloc(&memory, 4) == cudaErrorStreamCaptureUnsupported);
  }
  SECTION("waiting for the stream") {
    REQUIRE(cudaStreamSynchronize(stream) == cudaErrorStreamCaptureUnsupported);
  }
  SECTION("asking for an event") {
    REQUIRE(cudaEventQuery(inside) == cudaErrorCapturedEvent);
  }
  SECTION("an event from outside") {
    REQUIRE(cudaStreamWaitEvent(stream, outside) == cudaErrorStreamCaptureIsolation);
  }
  SECTION("a branch that is not joined") {
    REQUIRE(cudaStreamWaitEvent(side, inside) == cudaSuccess);
    REQUIRE(launch(side, 1, 1, add_one, number, 1) == cudaSuccess);
    at_end = cudaErrorStreamCaptureUnjoined;
  }
  SECTION("memory in another thread, for a capture that is global") {
    cudaError_t error = cudaSuccess;
    std::thread([&] {
      void* memory = nullptr;
      error = cudaMalloc(&memory, 4);
      cudaFree(memory);
    }).join();
    REQUIRE((error == cudaSuccess) == (mode == cudaStreamCaptureModeThreadLocal));
    if (error == cudaSuccess) at_end = cudaSuccess;
  }
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaStreamEndCapture(stream, &graph) == at_end);
  if (at_end == cudaSuccess) cudaGraphDestroy(graph);
  REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
  REQUIRE(number.values(stream)[0] == 1);
  cudaGetLastError();
}
