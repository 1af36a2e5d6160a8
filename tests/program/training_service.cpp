// training_service [PREDICTIONS [SETS]]: a service that trains in the background on samples that arrive one batch at a
// time, some of which cannot be used, while four threads predict and another sets the parameters. Prints what it has
// counted, and fails if a prediction has failed or mixed two versions, if a batch was lost, or if memory has grown.

#include <unistd.h>

#include <atomic>
#include <caf/message_handler.hpp>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <mutex>
#include <thread>

#include "troupe/actors/caf/mail.hpp"
#include "troupe/actors/ports/port_actor.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/library/softmax.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/step/batch_source.hpp"
#include "troupe/strategies/training/predictor.hpp"
#include "troupe/tests/limits.hpp"

using namespace troupe;

namespace {

constexpr std::int64_t kColumns = 512;
constexpr std::int64_t kRows = 8;
constexpr std::int64_t kBadBatches = 97;  // every batch with this number or a multiple of it has a bad label
constexpr std::size_t kWaiting = 64;      // batches that wait to be trained on
constexpr int kPredictors = 4;

/// The output "difference" is 0 if `a` and `b` are of one version: every step adds the same to all their elements.
Outputs model(const Inputs& in) {
  auto& builder = in.builder();
  const auto a = builder.parameter("a", {1, kColumns}, Initializer::zeros());
  const auto b = builder.parameter("b", {1, kColumns}, Initializer::zeros());
  const auto classes = builder.parameter("classes", {1, 2}, Initializer::zeros());
  const auto x = in["x"];
  return {{"difference", matmul(x, a) - matmul(x, b)},
          {"sum", matmul(x, a) + matmul(x, b)},
          {"logits", matmul(x, classes)}};
}

Value loss(const Outputs& outputs, const Inputs& in) {
  const auto falling = reshape(reduce_sum(outputs["sum"], std::vector<std::int64_t>{1}), {kBatch}) * -1.0F;
  return falling + softmax_cross_entropy(outputs["logits"], in["label"]).loss;
}

/// The batches that have arrived and that the training may still need.
struct Arrivals {
  std::mutex mutex;
  std::deque<std::int32_t> labels;  // of the batches from number `first` on; all rows of a batch have the same label
  std::int64_t first = 0;
  bool closed = false;
  std::function<void()> wake;
};

/// Sends the batches of Arrivals. A run may begin with a batch that an earlier run has sent and not trained on.
class ArrivalSource final : public PortActor {
 public:
  ArrivalSource(caf::actor_config& config, std::shared_ptr<Arrivals> arrivals)
      : PortActor(config), arrivals_(std::move(arrivals)) {}

 protected:
  void on_run(const RunInfo& run) override {
    std::lock_guard lock(arrivals_->mutex);
    next_ = run.first_batch;
    for (; arrivals_->first < next_; ++arrivals_->first) arrivals_->labels.pop_front();
    arrivals_->wake = [me = caf::actor_cast<caf::weak_actor_ptr>(this)] {
      if (const auto alive = caf::actor_cast<caf::actor>(me)) post(alive, caf::ok_atom_v);
    };
  }
  caf::message_handler own_handlers() override {
    return {[this](caf::ok_atom) { poll_again(); }};
  }
  Next next(std::int64_t) override {
    std::lock_guard lock(arrivals_->mutex);
    if (next_ - arrivals_->first < static_cast<std::int64_t>(arrivals_->labels.size())) return Next::fire;
    return arrivals_->closed ? Next::end : Next::wait;
  }
  void fire(std::int64_t, std::span<const Tensor>, std::span<Tensor> outputs) override {
    std::lock_guard lock(arrivals_->mutex);
    const auto label = arrivals_->labels.at(static_cast<std::size_t>(next_++ - arrivals_->first));
    outputs[0] = Tensor::from<float>({kRows, 1}, std::vector<float>(kRows, 1.0F));
    outputs[1] = Tensor::from<std::int32_t>({kRows}, std::vector<std::int32_t>(kRows, label));
  }

 private:
  std::shared_ptr<Arrivals> arrivals_;
  std::int64_t next_ = 0;
};

std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

Tensor filled(float value) {
  return Tensor::from<float>({1, kColumns}, std::vector<float>(kColumns, value));
}

struct Counts {
  std::atomic<std::int64_t> predictions{0}, torn{0}, failed{0}, arrived{0}, bad{0};
  std::atomic<std::int64_t> oldest_microseconds{0};
};

void predict(const Trainer& trainer, Counts& counts, std::int64_t until) {
  const std::vector<Field> fields{{"x", {Shape{kBatch, 1}, DType::float32}}};
  Predictor predictor(trainer, fields, {.refresh = std::chrono::milliseconds(10)});
  for (std::int64_t i = 0; counts.predictions < until; ++i) {
    const auto rows = 1 + i % 4;
    try {
      const auto x = Tensor::from<float>({rows, 1}, std::vector<float>(static_cast<std::size_t>(rows), 1.0F));
      const auto difference = predictor.predict({{"x", x}}, "difference");
      bool is_torn = false;
      for (const auto element : difference.data<float>()) is_torn = is_torn || element != 0.0F;
      counts.torn += is_torn ? 1 : 0;
      const auto age = std::chrono::duration_cast<std::chrono::microseconds>(predictor.parameters_age()).count();
      if (age > counts.oldest_microseconds) counts.oldest_microseconds = age;
    } catch (const Error& error) {
      if (counts.failed++ == 0) std::printf("a prediction failed: %s\n", error.what());
    }
    ++counts.predictions;
  }
}

void let_samples_arrive(Arrivals& arrivals, Counts& counts, std::int64_t until) {
  while (counts.predictions < until) {
    std::function<void()> wake;
    {
      std::lock_guard lock(arrivals.mutex);
      if (arrivals.labels.size() < kWaiting) {
        const bool is_bad = ++counts.arrived % kBadBatches == 0;
        counts.bad += is_bad ? 1 : 0;
        arrivals.labels.push_back(is_bad ? 7 : static_cast<std::int32_t>(counts.arrived % 2));
        wake = arrivals.wake;
      }
    }
    wake ? wake() : std::this_thread::yield();
  }
  std::lock_guard lock(arrivals.mutex);
  arrivals.closed = true;
  if (arrivals.wake) arrivals.wake();
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t predictions = argc > 1 ? std::atoll(argv[1]) : 20'000;
  const std::int64_t sets = argc > 2 ? std::atoll(argv[2]) : 50;
  const Runtime runtime;
  const Mirrored strategy(std::vector<Device>{{DeviceType::cpu, 0}, {DeviceType::cpu, 1}});
  Trainer trainer(runtime, strategy, model, Sgd{.lr = 1.0}, loss);
  const auto arrivals = std::make_shared<Arrivals>();
  const auto source = batch_source<ArrivalSource>(
      "arrivals", {{"x", {Shape{kBatch, 1}, DType::float32}}, {"label", {Shape{kBatch}, DType::int32}}}, kRows,
      arrivals);
  Counts counts;
  FitResult result;
  std::thread training([&] { result = trainer.fit(source, {.on_invalid_sample = InvalidSamples::skip}); });
  std::thread arriving([&] { let_samples_arrive(*arrivals, counts, predictions); });
  while (trainer.steps() == 0 && trainer.parameters().entries().empty()) std::this_thread::yield();
  std::vector<std::thread> predictors;
  for (int i = 0; i < kPredictors; ++i) predictors.emplace_back([&] { predict(trainer, counts, predictions); });
  std::int64_t early = 0, lost_sets = 0;
  for (std::int64_t i = 1; i <= sets; ++i) {
    while (counts.predictions < i * predictions / (sets + 1)) std::this_thread::yield();
    if (early == 0 && counts.predictions >= predictions / 10) early = resident_bytes();
    const auto value = static_cast<float>(1'024 * i);
    trainer.set_parameters({{"a", filled(value)}, {"b", filled(value)}});
    if (trainer.parameter_arrays().front().second.data<float>()[0] < value) ++lost_sets;
  }
  for (auto& thread : predictors) thread.join();
  const auto grown = resident_bytes() - early;
  arriving.join();
  training.join();
  const auto a = trainer.parameters().get("a"), b = trainer.parameters().get("b");
  const bool equal = std::ranges::equal(a.data<float>(), b.data<float>());
  std::printf(
      "%lld predictions, %lld torn, %lld failed; %lld sets, %lld lost; %lld batches arrived, %lld trained, %lld of "
      "%lld "
      "bad ones left out; oldest parameters %lld us; memory grew by %lld KiB after the first tenth\n",
      static_cast<long long>(counts.predictions), static_cast<long long>(counts.torn),
      static_cast<long long>(counts.failed), static_cast<long long>(sets), static_cast<long long>(lost_sets),
      static_cast<long long>(counts.arrived), static_cast<long long>(result.steps),
      static_cast<long long>(result.skipped_batches), static_cast<long long>(counts.bad),
      static_cast<long long>(counts.oldest_microseconds), static_cast<long long>(grown / 1'024));
  const bool complete = result.steps + result.skipped_batches == counts.arrived && result.skipped_batches == counts.bad;
  return counts.torn == 0 && counts.failed == 0 && lost_sets == 0 && complete && equal ? 0 : 1;
}
