#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/store/lease.hpp"
#include "troupe/actors/store/parameter_reader.hpp"
#include "troupe/actors/store/step_boundaries.hpp"
#include "troupe/actors/store/update_counter.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/limits.hpp"

namespace troupe::testing {

constexpr std::size_t kBytes = 64;
constexpr std::chrono::milliseconds kNoRefresh{3'600'000};

inline std::shared_ptr<ParameterStore> store_of(const std::vector<ParameterRef>& refs, Device device = {}) {
  auto store = std::make_shared<ParameterStore>(1);
  for (const auto& ref : refs)
    store->add({ref, {Shape{kBytes / sizeof(float)}, DType::float32}, device, Initializer::zeros(), true});
  return store;
}

inline Tensor full(float value) {
  return Tensor::from<float>({kBytes / sizeof(float)}, std::vector<float>(kBytes / sizeof(float), value));
}

/// A fit that writes some copies. Its runs begin and end when the test says so.
class TestFit {
 public:
  TestFit(std::shared_ptr<ParameterStore> store, std::vector<ParameterRef> refs)
      : store_(std::move(store)), refs_(std::move(refs)) {
    std::set<std::string> names;
    for (const auto& ref : refs_) names.insert(ref.name);
    boundaries_.emplace(store_, std::move(names), StepBoundaries::Open::between_runs, [this] { ++requests_; });
  }

  void begin_run() {
    boundaries_->close(true);
    boundaries_->publish();
    lease_ = store_->borrow({}, refs_, "the fit", {});
    boundaries_->note_run();
  }
  /// Ends a run that has set all elements to `value`.
  void end_run(float value) {
    for (const auto& ref : refs_) {
      const auto counter = store_->counter(ref);
      counter->begin_update();
      copy_and_wait(full(value), store_->borrowed(ref));
      counter->finish_update();
    }
    lease_.end_clean();
    boundaries_->open();
  }
  void next_run(float value) {
    end_run(value);
    begin_run();
  }
  /// Waits until a thread asks for a boundary for the first time.
  void await_request() const {
    REQUIRE(eventually([&] { return requests_ > 0; }));
  }
  int requests() const { return requests_; }
  StepBoundaries& boundaries() { return *boundaries_; }

 private:
  std::shared_ptr<ParameterStore> store_;
  std::vector<ParameterRef> refs_;
  std::atomic<int> requests_{0};
  Lease lease_;
  std::optional<StepBoundaries> boundaries_;
};

/// Calls a function on another thread.
template <class F>
auto elsewhere(F function) {
  return std::async(std::launch::async, std::move(function));
}

inline float read(ParameterReader& reader, std::size_t i = 0) {
  const auto access = reader.access();
  return reader.tensors()[i].copy_to_host().data<float>()[0];
}

/// Reads until the value is one of a version: between two runs, a reader reads the copies.
inline float read_version(ParameterReader& reader) {
  for (;;)
    if (const auto value = read(reader); reader.age().count() > 0) return value;
}

/// Reads until the reader has asked the fit for a new version.
inline void ask(TestFit& fit, ParameterReader& reader) {
  const auto before = fit.requests();
  REQUIRE(eventually([&] {
    read(reader);
    return fit.requests() > before;
  }));
}

/// The result of a call that waits for boundaries of a fit, whose runs set all elements to `value`.
template <class T>
T result_of(std::future<T> call, TestFit& fit, float value) {
  while (call.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) fit.next_run(value);
  return call.get();
}

/// The error of a call on another thread, or an empty text.
inline std::string error_of(const std::function<void()>& call) {
  return elsewhere([&]() -> std::string {
           try {
             call();
             return {};
           } catch (const Error& error) {
             return error.what();
           }
         })
      .get();
}

}  // namespace troupe::testing
