#include "troupe/bench/gpu/op_profile.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <numeric>

#include "troupe/bench/repetitions.hpp"
#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/core/batch_info.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/graph/program.hpp"
#include "troupe/ops/passes/passes.hpp"

namespace troupe::bench {

namespace {

using Clock = std::chrono::steady_clock;

/// The graph that OneDevice runs on the device.
Graph graph_on(const TrainingCase& measured, Device device) {
  return optimized_for(
      device, without_all_reduce(training_graph(measured.spec, measured.data.fields(), unreduced(measured.spec))));
}

/// The values of a field in the first batch.
Tensor first_rows(const Dataset& data, const std::string& field) {
  const auto number = data.index_of(field);
  const auto& info = data.fields()[number].info;
  const Tensor rows(info.shape.with_rows(data.batch_rows()), info.dtype);
  std::vector<std::int32_t> samples(static_cast<std::size_t>(data.batch_rows()));
  std::iota(samples.begin(), samples.end(), 0);
  data.gather(samples, number, rows);
  return rows;
}

Tensor batch_info_of(std::int64_t rows) {
  Tensor tensor(BatchInfo::info().shape, BatchInfo::info().dtype);
  BatchInfo{rows, rows, 0, 0}.write(tensor);
  return tensor;
}

void bind_all(Program& program, const Graph& graph, const Dataset& data, Device device) {
  std::uint64_t stream = 0;
  for (const auto& node : graph.nodes()) {
    if (!node.is(kInput) && !node.is(kParameter)) continue;
    Tensor value;
    if (node.is(kParameter)) {
      const auto& info = graph.info(node.outputs[0]);
      value = Tensor(info.shape, info.dtype);
      node.initializer.fill(value, 1, stream++);
    } else {
      value = node.name == names::kBatchInfo ? batch_info_of(data.batch_rows()) : first_rows(data, node.name);
    }
    program.bind(node.name, value.to(device));
  }
}

/// The steps of a program, on a stream that measures the time of each.
class TimedSteps {
 public:
  TimedSteps(const Program& program, Device device)
      : program_(program),
        stream_(backend_of(device).make_stream(device)),
        by_host_(backend_of(device).host_accessible()) {
    std::size_t bytes = 0;
    for (const auto& step : program.steps())
      if (step.kernel) bytes = std::max(bytes, step.kernel->scratch_bytes());
    scratch_ = Tensor(Shape{static_cast<std::int64_t>(bytes)}, DType::uint8, device);
  }

  /// Runs all steps once. Returns the seconds of each.
  std::vector<double> run() {
    marks_.clear();
    mark();
    for (const auto& step : program_.steps()) {
      if (step.kernel) step.kernel->run({*stream_, scratch_.address()}, step.inputs, step.outputs);
      mark();
    }
    marks_.back().event.wait();
    std::vector<double> seconds;
    for (std::size_t i = 1; i < marks_.size(); ++i) seconds.push_back(between(marks_[i - 1], marks_[i]));
    return seconds;
  }

 private:
  /// A point between two ops, with its time on the host.
  struct Mark {
    Event event;
    Clock::time_point host;
  };

  void mark() {
    Mark mark{stream_->record_with_time(), {}};
    if (by_host_) mark.event.wait();
    mark.host = Clock::now();
    marks_.push_back(std::move(mark));
  }

  double between(const Mark& begin, const Mark& end) const {
    if (by_host_) return std::chrono::duration<double>(end.host - begin.host).count();
    const auto taken = end.event.state()->time_since(*begin.event.state());
    if (!taken) throw Error("profile", "the device does not report the times of its work");
    return std::chrono::duration<double>(*taken).count();
  }

  const Program& program_;
  std::unique_ptr<Stream> stream_;
  bool by_host_;
  Tensor scratch_;
  std::vector<Mark> marks_;
};

double bytes_of(const TensorInfo& info) {
  return static_cast<double>(info.shape.elements()) * static_cast<double>(size_of(info.dtype));
}

/// Whether an op reads as many rows of its table as it writes, so that the table is not read as a whole.
bool reads_rows_of_table(const OpDef& op) {
  return &op == &kGather || &op == &kLoadRows || &op == &kSliceRows || &op == &kSlice;
}

double bytes_of(const OpCall& call) {
  double written = 0.0, read = 0.0;
  for (const auto& info : call.outputs) written += bytes_of(info);
  for (const auto& info : call.inputs) read += bytes_of(info);
  if (reads_rows_of_table(*call.op)) read += std::min(0.0, written - bytes_of(call.inputs[0]));
  return written + read;
}

std::string kind_of(const OpCall& call) {
  return std::string(call.op->name) + " " + std::string(name_of(call.outputs[0].dtype));
}

/// The contribution of one node to its kind.
OpKindTime time_of(const OpCall& call, double seconds) {
  const auto multiply_adds = call.op->multiply_adds == nullptr ? 0 : call.op->multiply_adds(call);
  return {kind_of(call), 1, seconds, bytes_of(call), 2.0 * static_cast<double>(multiply_adds)};
}

std::vector<OpKindTime> longest_first(const std::map<std::string, OpKindTime>& by_kind) {
  std::vector<OpKindTime> kinds;
  for (const auto& [name, kind] : by_kind) kinds.push_back(kind);
  std::ranges::stable_sort(kinds, std::greater<>(), &OpKindTime::seconds);
  return kinds;
}

/// The median over the repetitions, by step.
std::vector<double> median_seconds(TimedSteps& steps, int repetitions) {
  std::vector<std::vector<double>> by_step(steps.run().size());
  for (int i = 0; i < repetitions; ++i) {
    const auto seconds = steps.run();
    for (std::size_t step = 0; step < seconds.size(); ++step) by_step[step].push_back(seconds[step]);
  }
  std::vector<double> medians;
  for (auto& seconds : by_step) medians.push_back(median(std::move(seconds)));
  return medians;
}

}  // namespace

OpKindTime& OpKindTime::operator+=(const OpKindTime& other) {
  calls += other.calls;
  seconds += other.seconds;
  bytes += other.bytes;
  flop += other.flop;
  return *this;
}

OpKindTime OpProfile::sum_of(const std::vector<std::string>& ops) const {
  OpKindTime sum;
  for (const auto& kind : kinds)
    if (ops.empty() || std::ranges::count(ops, kind.kind.substr(0, kind.kind.find(' '))) > 0) sum += kind;
  return sum;
}

OpProfile profile_ops(const TrainingCase& measured, Device device, int repetitions) {
  const auto graph = graph_on(measured, device);
  const auto rows = measured.data.batch_rows();
  Program program(graph, rows, device);
  bind_all(program, graph, measured.data, device);
  program.run();
  std::map<std::string, const Node*> nodes;
  for (const auto& node : graph.nodes()) nodes[node.name] = &node;
  TimedSteps steps(program, device);
  const auto seconds = median_seconds(steps, repetitions);
  std::map<std::string, OpKindTime> by_kind;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    const auto one = time_of(call_of(graph, *nodes.at(program.steps()[i].name), rows), seconds[i]);
    const auto [kind, is_new] = by_kind.try_emplace(one.kind, one);
    if (!is_new) kind->second += one;
  }
  return {longest_first(by_kind), static_cast<double>(program.memory_bytes())};
}

void print(const OpProfile& profile) {
  const auto all = profile.sum_of({});
  std::printf("%9s %6s %6s %9s %8s %10s %8s  kind\n", "ms", "%", "calls", "GB", "GB/s", "GFLOP", "TFLOP/s");
  const auto line = [&](const OpKindTime& kind, const std::string& name) {
    std::printf("%9.3f %6.1f %6d %9.4f %8.1f %10.2f %8.2f  %s\n", 1e3 * kind.seconds,
                100.0 * kind.seconds / all.seconds, kind.calls, 1e-9 * kind.bytes, kind.gigabytes_per_second(),
                1e-9 * kind.flop, kind.teraflop_per_second(), name.c_str());
  };
  for (const auto& kind : profile.kinds) line(kind, kind.kind);
  line(all, "all");
}

}  // namespace troupe::bench
