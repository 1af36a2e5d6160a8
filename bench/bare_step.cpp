#include "troupe/bench/bare_step.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/store/parameter_store.hpp"
#include "troupe/actors/threads/spin_pause.hpp"
#include "troupe/actors/threads/thread_pinning.hpp"
#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/core/batch_info.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/transport/rank_sum.hpp"

namespace troupe::bench {

namespace {

constexpr std::uint64_t kSeed = 0;

bool is_product(const OpDef& op) {
  return op.name == "matmul" || op.name.starts_with("conv2d");
}

/// The training graph with its gradients as outputs, which are reduced and applied by hand.
Graph gradient_graph(const TrainingSpec& spec, const std::vector<Field>& fields) {
  /// An update rule that makes the gradient an output under its parameter's name.
  struct NoUpdate {
    Schedule lr = 0.0;
    std::optional<double> clip_norm = {};
    void update(const UpdateInputs& in) const {
      in.parameter.builder().output(in.parameter.builder().graph().producer(in.parameter.id()).name, in.gradient);
    }
  };
  TrainingSpec without{spec.model, spec.loss, NoUpdate{}};
  return optimize_for_host(training_graph(without, fields, unreduced(without)));
}

Graph update_graph(const TrainingSpec& spec, const std::vector<Field>& fields) {
  return optimize_for_host(training_graph(spec, fields, unreduced(spec)));
}

/// The update of one replica's part of one parameter.
struct PartUpdate {
  std::unique_ptr<Kernel> kernel;
  std::vector<Tensor> gradients;  // by replica
  std::int64_t first, count;
  std::vector<Tensor> inputs, outputs;
};

}  // namespace

void SpinBarrier::wait() {
  const auto round = round_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
    arrived_.store(0, std::memory_order_relaxed);
    round_.store(round + 1, std::memory_order_release);
    return;
  }
  while (round_.load(std::memory_order_acquire) == round) spin_pause();
}

/// The initial parameters of a graph.
std::map<std::string, Tensor> start_values(const Graph& graph) {
  ParameterStore store(kSeed);
  std::map<std::string, Tensor> values;
  for (auto id : graph.sources(kParameter)) {
    const auto& node = graph.producer(id);
    store.add({{node.name, 0}, graph.info(id), {}, node.initializer, node.trainable});
    values[node.name] = store.get(node.name);
  }
  return values;
}

/// One thread's copy of the model. It has a program for each number of rows of a batch.
struct BareStep::Replica {
  int index = 0, replicas = 1;
  struct Part {
    std::unique_ptr<Program> program;
    std::vector<Tensor> fields;  // the fields that the graph reads
    Tensor batch_info;
    std::vector<PartUpdate> updates;
  };
  std::map<std::int64_t, Part> by_batch_rows;
};

BareStep::~BareStep() = default;

BareStep::BareStep(const TrainingSpec& spec, const Dataset& data, int replicas, double learning_rate)
    : data_(data), barrier_(replicas) {
  const auto graph = replicas == 1 ? update_graph(spec, data.fields()) : gradient_graph(spec, data.fields());
  for (const auto& name : fields_read(graph)) field_numbers_.push_back(data.index_of(name));
  const auto parameters = start_values(graph);
  const auto last = data.rows() % data.batch_rows();
  for (int r = 0; r < replicas; ++r) {
    auto& replica = *replicas_.emplace_back(std::make_unique<Replica>());
    replica.index = r;
    replica.replicas = replicas;
    for (auto rows : {data.batch_rows(), last}) {
      if (rows == 0) continue;
      const auto mine = part_of_batch(rows, replicas, r).rows;
      auto& part = replica.by_batch_rows[rows];
      part.program = std::make_unique<Program>(graph, mine);
      for (const auto& name : fields_read(graph)) {
        const auto& info = data.fields()[data.index_of(name)].info;
        part.fields.emplace_back(info.shape.with_rows(mine), info.dtype);
        part.program->bind(name, part.fields.back());
      }
      part.batch_info = Tensor(BatchInfo::info().shape, BatchInfo::info().dtype);
      BatchInfo{mine, rows, 0, 0}.write(part.batch_info);
      part.program->bind(names::kBatchInfo, part.batch_info);
      for (auto id : graph.sources(kParameter))
        part.program->bind(graph.producer(id).name, parameters.at(graph.producer(id).name));
      if (mine > 0) part.program->run();
    }
  }
  const auto rate = Tensor::scalar(static_cast<float>(learning_rate));
  for (auto& replica : replicas_) {
    for (auto& [rows, part] : replica->by_batch_rows) {
      for (const auto& [name, parameter] : parameters) {
        if (replicas == 1) break;
        PartUpdate update;
        const auto half = part_of_batch(parameter.elements(), replicas, replica->index);
        if (half.rows == 0) continue;
        for (auto& other : replicas_) update.gradients.push_back(other->by_batch_rows.at(rows).program->output(name));
        update.first = half.first;
        update.count = half.rows;
        const auto cut = [&](const Tensor& whole) {
          return whole.view(Shape{half.rows}, static_cast<std::size_t>(half.first) * sizeof(float));
        };
        update.inputs = {cut(parameter), cut(update.gradients[replica->index]), rate};
        update.outputs = {update.inputs[0]};
        const TensorInfo info{Shape{half.rows}, DType::float32};
        update.kernel =
            make_kernel({&kSgdUpdate,
                         {{"momentum", 0.0}, {"nesterov", false}, {"weight_decay", 0.0}, {"clipped", false}},
                         {info, info, {Shape{}, DType::float32}},
                         {info}},
                        {});
        part.updates.push_back(std::move(update));
      }
    }
  }
}

void BareStep::work(Replica& replica, std::int64_t steps, bool products_only) {
  pin_this_thread(replica.index);
  const auto stream = backend_of(DeviceType::cpu).make_stream({});
  std::vector<std::int32_t> order;
  auto batch = data_.batches();
  std::int64_t epoch = epoch_;
  for (std::int64_t step = 0; step < steps; ++step, ++batch) {
    if (batch == data_.batches()) {
      batch = 0;
      order = data_.order(kSeed, epoch++);
    }
    const auto first = batch * data_.batch_rows();
    const auto rows = std::min(data_.batch_rows(), data_.rows() - first);
    const auto mine = part_of_batch(rows, replica.replicas, replica.index);
    auto& part = replica.by_batch_rows.at(rows);
    if (products_only) {
      for (std::size_t i = 0; i < part.program->steps().size(); ++i)
        if (is_product(*part.program->steps()[i].op)) part.program->run_step(i);
      continue;
    }
    const auto samples =
        std::span(order).subspan(static_cast<std::size_t>(first + mine.first), static_cast<std::size_t>(mine.rows));
    for (std::size_t i = 0; i < part.fields.size(); ++i) data_.gather(samples, field_numbers_[i], part.fields[i]);
    part.program->run();
    if (part.updates.empty()) continue;
    barrier_.wait();
    for (auto& update : part.updates) {
      rank_sum(update.gradients, update.first, update.count, update.inputs[1].mutable_raw());
      update.kernel->run({*stream}, update.inputs, update.outputs);
    }
    barrier_.wait();
  }
}

double BareStep::run_threads(std::int64_t steps, bool products_only) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (auto& replica : replicas_) threads.emplace_back([&] { work(*replica, steps, products_only); });
  for (auto& thread : threads) thread.join();
  const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  ++epoch_;
  const auto epochs = steps / data_.batches();
  const auto rest = std::min(data_.rows(), steps % data_.batches() * data_.batch_rows());
  return static_cast<double>(epochs * data_.rows() + rest) / seconds;
}

double BareStep::run(std::int64_t steps) {
  return run_threads(steps, false);
}
double BareStep::run_products(std::int64_t steps) {
  return run_threads(steps, true);
}

}  // namespace troupe::bench
