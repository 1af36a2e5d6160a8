#include "troupe/strategies/step/batch_source.hpp"

#include <atomic>
#include <caf/message_handler.hpp>
#include <mutex>
#include <thread>

#include "troupe/actors/caf/mail.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/scheduling_probe.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// State that a test shares with its actors.
struct Record {
  std::vector<RunInfo> runs;
  std::atomic<int> actors{0};
};

/// Makes the batches that a data set has.
class Replay final : public PortActor {
 public:
  Replay(caf::actor_config& config, Dataset data, std::shared_ptr<Record> record)
      : PortActor(config), data_(std::move(data)), record_(std::move(record)) {
    ++record_->actors;
  }
  ~Replay() override { --record_->actors; }

 protected:
  void on_run(const RunInfo& run) override {
    record_->runs.push_back(run);
    order_ = data_.order(3, run.epoch);
    first_ = run.first_batch * data_.batch_rows();
  }
  Next next(std::int64_t) override { return first_ < data_.rows() ? Next::fire : Next::end; }
  void fire(std::int64_t, std::span<const Tensor>, std::span<Tensor> outputs) override {
    const auto rows = std::min(data_.batch_rows(), data_.rows() - first_);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const auto& info = data_.fields()[i].info;
      outputs[i] = Tensor(info.shape.with_rows(rows), info.dtype);
      data_.gather(std::span(order_).subspan(static_cast<std::size_t>(first_), static_cast<std::size_t>(rows)), i,
                   outputs[i]);
    }
    first_ += rows;
  }

 private:
  Dataset data_;
  std::shared_ptr<Record> record_;
  std::vector<std::int32_t> order_;
  std::int64_t first_ = 0;
};

BatchSource replay(const Dataset& data, const std::shared_ptr<Record>& record) {
  return batch_source<Replay>("replay", data.fields(), data.batch_rows(), data, record);
}

/// Sends one batch of the given tensors, then ends.
class Once final : public PortActor {
 public:
  Once(caf::actor_config& config, std::vector<Tensor> tensors) : PortActor(config), tensors_(std::move(tensors)) {}

 protected:
  bool has_step(std::int64_t step) override { return step == 0; }
  void fire(std::int64_t, std::span<const Tensor>, std::span<Tensor> outputs) override {
    std::ranges::copy(tensors_, outputs.begin());
  }

 private:
  std::vector<Tensor> tensors_;
};

/// Batches that a thread of the program hands over one by one.
struct Handover {
  std::mutex mutex;
  int batches = 0;
  std::function<void()> wake;

  void add(int more) {
    std::function<void()> tell;
    {
      std::lock_guard lock(mutex);
      batches += more;
      tell = wake;
    }
    if (tell) tell();
  }
};

class Waiting final : public PortActor {
 public:
  Waiting(caf::actor_config& config, std::shared_ptr<Handover> handover)
      : PortActor(config), handover_(std::move(handover)) {}

 protected:
  void on_run(const RunInfo&) override {
    std::lock_guard lock(handover_->mutex);
    handover_->wake = [me = caf::actor_cast<caf::weak_actor_ptr>(this)] {
      if (const auto alive = caf::actor_cast<caf::actor>(me)) post(alive, caf::ok_atom_v);
    };
  }
  caf::message_handler own_handlers() override {
    return {[this](caf::ok_atom) { poll_again(); }};
  }
  Next next(std::int64_t) override {
    std::lock_guard lock(handover_->mutex);
    return handover_->batches > 0 ? Next::fire : Next::wait;
  }
  void fire(std::int64_t, std::span<const Tensor>, std::span<Tensor> outputs) override {
    std::lock_guard lock(handover_->mutex);
    --handover_->batches;
    outputs[0] = Tensor(Shape{4, 4, 3}, DType::float32);
    outputs[1] = Tensor(Shape{4}, DType::int32);
  }

 private:
  std::shared_ptr<Handover> handover_;
};

std::string error_of(Trainer& trainer, const BatchSource& source) {
  try {
    trainer.fit(source);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("batches of an actor train to the bits of the same batches of a data set") {
  for (int replicas : {1, 2, 3})
    for (const auto grain : {Grain::fused, Grain::chains, Grain::per_op}) {
      auto runtime = scheduled_runtime(7, replicas);
      const Mirrored strategy(cpu_devices(replicas));
      const auto expected = train(runtime, strategy, data_of_50(), grain, 3);
      const auto record = std::make_shared<Record>();
      auto trainer = small_trainer(runtime, strategy, {.seed = 3, .grain = grain});
      std::vector<double> losses;
      const auto result = trainer.fit(replay(data_of_50(), record),
                                      {.epochs = 3, .on_step = [&](const auto& step) { losses.push_back(step.loss); }});
      CHECK(losses == expected.losses);
      CHECK(trainer.parameters().hash() == expected.hash);
      CHECK(result.epochs.size() == 3);
      for (const auto& epoch : result.epochs) CHECK(epoch.complete);
      CHECK(result.rows == 150);
      CHECK(record->actors == 0);
      const auto of_data = trainer.evaluate(data_of_50());
      const auto of_actor = trainer.evaluate(replay(data_of_50(), record));
      CHECK(of_actor.rows == of_data.rows);
      CHECK(of_actor.loss == Approx(of_data.loss));
    }
}

TEST_CASE("batches of an actor reach replicas in other processes, to the same bits") {
  auto runtime = scheduled_runtime(7, 2);
  const Mirrored one_process(cpu_devices(2));
  const auto expected = train(runtime, one_process, data_of_50(), Grain::fused, 3);
  for (std::uint64_t seed = 0; seed < schedules(10); ++seed) {
    const Runtime first = scheduled_runtime(seed, 1), second = scheduled_runtime(seed + 100, 1);
    const Mirrored strategy(std::vector<Place>{{0, {DeviceType::cpu, 0}}, {1, {DeviceType::cpu, 0}}});
    Trainer trainer(first, strategy, small_spec().model, Sgd{.lr = 0.1, .momentum = 0.5}, SoftmaxCrossEntropy{},
                    {.seed = 3, .other_parts = {second}});
    const auto record = std::make_shared<Record>();
    CHECK(trainer.fit(replay(data_of_50(), record), {.epochs = 3}).steps == 12);
    CHECK(trainer.parameters().hash() == expected.hash);
  }
}

TEST_CASE("an actor is told epoch and batch, and goes on after stops and pauses, to the same bits") {
  auto runtime = scheduled_runtime(8, 2);
  const Mirrored strategy(cpu_devices(2));
  const auto expected = train(runtime, strategy, data_of_50(), Grain::fused, 3);
  for (const std::vector<std::int64_t>& parts : {std::vector<std::int64_t>{1, 2, 3, 6}, {5, 7}, {4, 8}}) {
    const auto record = std::make_shared<Record>();
    auto trainer = small_trainer(runtime, strategy, {.seed = 3});
    for (const auto steps : parts) trainer.fit(replay(data_of_50(), record), {.epochs = 3, .max_steps = steps});
    CHECK(trainer.steps() == 12);
    CHECK(trainer.parameters().hash() == expected.hash);
    for (const auto& run : record->runs) CHECK(run.epoch * 4 + run.first_batch == run.first_step);
  }
  const auto record = std::make_shared<Record>();
  auto paused = small_trainer(runtime, strategy, {.seed = 3});
  int pauses = 0;
  const auto result = paused.fit(replay(data_of_50(), record),
                                 {.epochs = 3, .pause_every = 3, .on_pause = [&](const Metrics&) { ++pauses; }});
  CHECK(pauses == 4);
  CHECK(result.steps == 12);
  CHECK(paused.parameters().hash() == expected.hash);
}

TEST_CASE("a fit that ends with the last batch of an epoch leaves no empty epoch behind") {
  auto runtime = scheduled_runtime(8, 2);
  const Mirrored strategy(cpu_devices(2));
  const auto expected = train(runtime, strategy, data_of_50(), Grain::fused, 3);
  const auto record = std::make_shared<Record>();
  auto trainer = small_trainer(runtime, strategy, {.seed = 3});
  for (int epoch = 0; epoch < 3; ++epoch) {
    const auto result =
        trainer.fit(replay(data_of_50(), record),
                    {.max_steps = 4, .on_epoch = [](const auto& done) { CHECK(done.training.steps == 4); }});
    CHECK(result.steps == 4);
    CHECK(result.epochs.size() == 1);
  }
  CHECK(trainer.parameters().hash() == expected.hash);
}

TEST_CASE("a source without a batch is an error, not an epoch") {
  auto runtime = scheduled_runtime(8, 2);
  const Mirrored strategy(cpu_devices(2));
  auto trainer = small_trainer(runtime, strategy);
  const auto record = std::make_shared<Record>();
  auto source = replay(data_of_50(), record);
  source.actor = replay(data_of_50().take(0), record).actor;
  CHECK_THAT(error_of(trainer, source), Contains("[trainer] the source of batches gave none in epoch 0"));
  CHECK(trainer.evaluate(source).rows == 0);
  CHECK(trainer.fit(data_of_50()).steps == 4);
}

namespace {

/// A fit of three batches, then a wait of twice the limit for a fourth one that does not come. Returns what is wrong.
std::string wait_for_batches(std::chrono::milliseconds stall_limit) {
  const auto handover = std::make_shared<Handover>();
  Runtime runtime({.cpu_devices = 2});
  const Mirrored strategy(cpu_devices(2));
  auto trainer = small_trainer(runtime, strategy, {.stall_limit = stall_limit});
  const auto source = batch_source<Waiting>("sensor", data_of_50().fields(), 4, handover);
  std::atomic<int> steps{0};
  std::jthread feeder([&](const std::stop_token& given_up) {
    for (int i = 1; i <= 3; ++i) {
      handover->add(1);
      while (steps < i && !given_up.stop_requested()) std::this_thread::yield();
    }
  });
  std::optional<std::chrono::steady_clock::time_point> third;
  FitOptions options{.on_step = [&](const StepMetrics&) { ++steps; }};
  options.stop_requested = [&] {
    const auto now = std::chrono::steady_clock::now();
    if (!third && steps == 3) third = now;
    return third && now - *third > 2 * stall_limit;
  };
  FitResult result;
  try {
    result = trainer.fit(source, options);
  } catch (const Error& error) {
    return error.what();
  }
  CHECK(result.stopped);
  CHECK(result.steps == 3);
  CHECK_FALSE(result.epochs.at(0).complete);
  CHECK(trainer.parameters().hash(0) == trainer.parameters().hash(1));
  return "";
}

}  // namespace

TEST_CASE("a fit waits for an actor that has nothing yet, and a stop ends the wait in order") {
  CHECK(keeps_promise(std::chrono::milliseconds(200), wait_for_batches) == "");
}

TEST_CASE("a source whose batches do not fit is told so, by its name") {
  auto runtime = scheduled_runtime(9, 2);
  const Mirrored strategy(cpu_devices(2));
  auto trainer = small_trainer(runtime, strategy);
  const auto fields = data_of_50().fields();
  const auto batch_of = [&](std::int64_t features, std::int64_t labels, DType dtype = DType::int32) {
    const std::vector<Tensor> tensors{Tensor(Shape{features, 4, 3}, DType::float32), Tensor(Shape{labels}, dtype)};
    return batch_source<Once>("once", fields, 4, tensors);
  };
  CHECK_THAT(error_of(trainer, batch_of(5, 5)), Contains("[once] sent a batch of 5 rows where 1 to 4 were declared"));
  CHECK_THAT(error_of(trainer, batch_of(0, 0)), Contains("[once] sent a batch of 0 rows"));
  CHECK_THAT(error_of(trainer, batch_of(3, 2)), Contains("[once] sent a batch whose fields have 3 and 2 rows"));
  CHECK_THAT(error_of(trainer, batch_of(4, 4, DType::int64)),
             Contains("[once] sent int64[4] on cpu:0 where the plan says int32[B]"));
  auto none = batch_of(4, 4);
  none.most_rows = 0;
  CHECK_THAT(error_of(trainer, none), Contains("[once] a batch needs room for at least one row"));
  auto fewer = batch_of(4, 4);
  fewer.fields.pop_back();
  CHECK_THAT(error_of(trainer, fewer), Contains("[once] has 2 outputs for 1 fields"));
  auto other = batch_of(4, 4);
  other.fields[1].info.dtype = DType::float32;
  CHECK_THAT(error_of(trainer, other), Contains("output 1 is int32[B], but the field 'labels' float32[B]"));
  auto whole = batch_of(4, 4);
  whole.fields[0].info.shape = Shape{4, 4, 3};
  CHECK_THAT(error_of(trainer, whole), Contains("does not begin with the rows of the batch"));
  auto no_source = batch_of(4, 4);
  no_source.actor.role = ActorRole::op;
  CHECK_THAT(error_of(trainer, no_source), Contains("cannot be the source of batches"));
  CHECK(error_of(trainer, batch_of(4, 4)).empty());
}
