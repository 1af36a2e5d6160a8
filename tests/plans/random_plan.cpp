#include "troupe/tests/plans/random_plan.hpp"

#include <algorithm>
#include <set>

#include "troupe/actors/plan/check_plan.hpp"
#include "troupe/actors/plan/dependencies.hpp"
#include "troupe/actors/ports/port_actor.hpp"
#include "troupe/actors/task/function_task.hpp"
#include "troupe/ops/core/random.hpp"
#include "troupe/tests/plans/random_arithmetic.hpp"

namespace troupe::testing {

namespace {

constexpr std::int64_t kWide = 4, kNarrow = 2;

Values values_of(const Tensor& tensor) {
  const auto data = tensor.data<float>();
  return {data.begin(), data.end()};
}

std::vector<Values> values_of(std::span<const Tensor> tensors) {
  std::vector<Values> values;
  for (const auto& tensor : tensors)
    if (tensor.elements() > 0) values.push_back(values_of(tensor));
  return values;
}

void write(const Tensor& tensor, ActorId id, const std::vector<Values>& inputs) {
  const auto data = tensor.mutable_data<float>();
  for (std::size_t k = 0; k < data.size(); ++k) data[k] = combine(id, static_cast<std::int64_t>(k), inputs);
}

class RandomActor final : public PortActor {
 public:
  RandomActor(caf::actor_config& config, ActorId id, std::int64_t elements)
      : PortActor(config), id_(id), elements_(elements) {}

 private:
  void fire(std::int64_t, std::span<const Tensor> inputs, std::span<Tensor> outputs) override {
    if (outputs.empty()) return;
    outputs[0] = Tensor(Shape{elements_}, DType::float32);
    write(outputs[0], id_, values_of(inputs));
  }
  Tensor initial_token(std::uint32_t) override { return Tensor(Shape{elements_}, DType::float32); }
  ActorId id_;
  std::int64_t elements_;
};

/// Draws numbers one after the other.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : seed_(seed) {}
  int below(int limit) {
    return static_cast<int>(uniform_below(static_cast<std::uint64_t>(limit), seed_, 17, next_++));
  }
  bool once_in(int times) { return below(times) == 0; }

 private:
  std::uint64_t seed_, next_ = 0;
};

class Builder {
 public:
  Builder(std::uint64_t seed, const RandomPlanOptions& options, Plan& plan, std::shared_ptr<SinkRecord> record)
      : draws_(seed), options_(options), plan_(plan), record_(std::move(record)) {}

  void run() {
    const int sources = 1 + draws_.below(2), ops = 1 + draws_.below(9), updates = draws_.below(3);
    for (int i = 0; i < sources; ++i) add_source();
    for (int i = 0; i < ops; ++i) add_op();
    for (int i = 0; i < updates; ++i) add_update();
    for (int i = draws_.below(4); i > 0; --i) add_loop();
    add_in_place();
    read_unread();
  }

 private:
  Place place() { return {draws_.below(options_.processes), {DeviceType::cpu, draws_.below(2)}}; }

  PlanActor actor(const std::string& name, std::int64_t elements) {
    PlanActor made;
    made.name = name + std::to_string(plan_.actors.size());
    made.place = place();
    made.replica = draws_.below(2);
    made.alone = draws_.once_in(5);
    if (elements > 0) made.outputs.push_back({.info = {Shape{elements}, DType::float32}});
    return made;
  }

  ActorId next_id() const { return static_cast<ActorId>(plan_.actors.size()); }
  std::int64_t elements() { return draws_.once_in(2) ? kWide : kNarrow; }
  std::int32_t capacity() { return 1 + draws_.below(3); }

  void add_source() {
    auto made = actor("source", elements());
    made.role = ActorRole::source;
    made.make_task = function_source([](std::int64_t) { return 1; },
                                     [id = next_id()](const Firing& firing) {
                                       const auto data = firing.outputs[0].mutable_data<float>();
                                       for (std::size_t k = 0; k < data.size(); ++k)
                                         data[k] = from_source(id, static_cast<std::int64_t>(k), firing.step);
                                     });
    makers_.push_back(plan_.add(made));
  }

  TaskFactory op_task(ActorId id) {
    return function_task([id](const Firing& firing) {
      if (!firing.outputs.empty()) write(firing.outputs[0], id, values_of(firing.inputs));
    });
  }

  void add_op() {
    const auto id = next_id();
    const auto size = elements();
    auto made = actor("op", size);
    const bool is_external = options_.external && draws_.once_in(6);
    if (is_external) {
      auto spawned = external<RandomActor>(made.name, {.outputs = {made.outputs[0].info}}, id, size);
      spawned.place = made.place;
      spawned.replica = made.replica;
      spawned.pacing = Pacing::follows;
      spawned.declared_inputs.reset();
      made = std::move(spawned);
    } else {
      made.make_task = op_task(id);
    }
    plan_.add(made);
    for (int inputs = 1 + draws_.below(3); inputs > 0; --inputs)
      read(id, makers_[static_cast<std::size_t>(draws_.below(static_cast<int>(makers_.size())))]);
    makers_.push_back(id);
  }

  /// Adds an input that reads an output, or the second half of it.
  void read(ActorId reader, ActorId maker) {
    const auto edge = plan_.edge_of(maker, 0, capacity());
    const auto& info = plan_.edges[edge].info;
    const bool halves = info.shape.elements() == kWide && plan_.actors[reader].role != ActorRole::external;
    if (halves && draws_.once_in(3))
      plan_.connect(edge, reader, {Shape{kNarrow}, DType::float32}, kNarrow * sizeof(float));
    else
      plan_.connect(edge, reader, info, 0);
  }

  /// An actor that updates a parameter, read by some actors that are there already.
  void add_update() {
    const auto id = next_id();
    const auto name = "p" + std::to_string(id);
    auto made = actor("update", kNarrow);
    const ParameterRef ref{name, made.replica};
    const TensorInfo info{Shape{kNarrow}, DType::float32};
    plan_.add_parameter({ref, info, made.place.device, Initializer::constant(static_cast<double>(id)), true});
    made.inputs.push_back({.info = info, .parameter = ref});
    made.outputs[0].parameter = ref;
    made.make_task = op_task(id);
    plan_.add(made);
    read(id, makers_[static_cast<std::size_t>(draws_.below(static_cast<int>(makers_.size())))]);
    const auto slots = draws_.once_in(3) ? 2 : 1;
    const auto edge = plan_.edge_of(id, 0, slots, 1 + draws_.below(slots));
    for (int readers = 1 + draws_.below(3); readers > 0; --readers) {
      const auto reader = makers_[static_cast<std::size_t>(draws_.below(static_cast<int>(makers_.size())))];
      if (plan_.actors[reader].role != ActorRole::source) plan_.connect(edge, reader, info, 0);
    }
    if (plan_.edges[edge].consumers.empty()) unread_.push_back(id);
  }

  /// An edge from an actor back to an earlier one, or to itself, with tokens as a rule.
  void add_loop() {
    std::vector<ActorId> free;
    for (auto id : makers_)
      if (plan_.actors[id].outputs[0].edge == kNone && plan_.actors[id].role != ActorRole::source) free.push_back(id);
    if (free.empty()) return;
    const auto from = free[static_cast<std::size_t>(draws_.below(static_cast<int>(free.size())))];
    const auto to = makers_[static_cast<std::size_t>(draws_.below(static_cast<int>(makers_.size())))];
    if (to > from || plan_.actors[to].role == ActorRole::source) return;
    const auto slots = capacity();
    const bool dead = options_.may_be_dead && draws_.once_in(6);
    const auto tokens = dead ? 0 : 1 + draws_.below(slots);
    plan_.connect(plan_.edge_of(from, 0, slots, tokens), to, plan_.actors[from].outputs[0].info, 0);
  }

  /// An actor that overwrites an output without other consumers in place.
  void add_in_place() {
    for (auto maker : std::vector<ActorId>(makers_)) {
      const auto& output = plan_.actors[maker].outputs[0];
      if (output.edge != kNone || plan_.actors[maker].role == ActorRole::source || !draws_.once_in(2)) continue;
      const auto id = next_id();
      auto made = actor("in place", output.info.shape.elements());
      made.place.process = plan_.actors[maker].place.process;
      made.outputs[0].alias_of = 0;
      made.make_task = op_task(id);
      plan_.add(made);
      plan_.connect(maker, 0, id, capacity());
      makers_.push_back(id);
      return;
    }
  }

  void read_unread() {
    for (auto maker : makers_)
      if (plan_.actors[maker].outputs[0].edge == kNone || draws_.once_in(4)) unread_.push_back(maker);
    for (auto maker : unread_) {
      // A second reader beside one that works in place is refused.
      const auto edge = plan_.actors[maker].outputs[0].edge;
      if (edge != kNone && is_spoiled(plan_.edges[edge])) continue;
      add_sink(maker);
    }
  }

  bool is_spoiled(const PlanEdge& edge) const {
    return std::any_of(edge.consumers.begin(), edge.consumers.end(), [&](const PlanConsumer& consumer) {
      const auto& outputs = plan_.actors[consumer.actor].outputs;
      return !outputs.empty() && outputs[0].alias_of == consumer.input;
    });
  }

  void add_sink(ActorId maker) {
    const auto id = next_id();
    auto sink = actor("sink", 0);
    sink.role = ActorRole::sink;
    (*record_)[id] = {};
    sink.make_task = function_task([record = record_, id](const Firing& firing) {
      // Sinks write to different vectors, which are there before anything runs.
      auto& values = record->at(id);
      for (const auto& input : firing.inputs)
        for (auto value : input.data<float>()) values.push_back(value);
    });
    plan_.add(sink);
    const auto edge = plan_.edge_of(maker, 0, capacity());
    plan_.connect(edge, id, plan_.edges[edge].info, 0);
    if (!has_input_without_tokens(plan_, plan_.actors[id])) read(id, makers_[0]);
  }

  Draws draws_;
  RandomPlanOptions options_;
  Plan& plan_;
  std::shared_ptr<SinkRecord> record_;
  std::vector<ActorId> makers_, unread_;
};

}  // namespace

RandomPlan::RandomPlan(std::uint64_t seed, const RandomPlanOptions& options) {
  Builder(seed, options, plan, record).run();
}

}  // namespace troupe::testing
