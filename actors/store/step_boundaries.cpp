#include "troupe/actors/store/step_boundaries.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "troupe/actors/store/parameter_store_state.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

/// The longest time that a thread waits for a step boundary.
constexpr std::chrono::seconds kBoundaryLimit{60};
/// The time after which a request for a boundary is made again: one between two runs has no effect.
constexpr std::chrono::milliseconds kRequestAgain{20};
/// The shortest time between the beginning of a run and a request that ends it.
constexpr std::chrono::milliseconds kLeastRun{1};
/// The longest time that a fit waits for the threads that use a boundary.
constexpr std::chrono::seconds kVisitLimit{10};

bool is_driven_here(const RegisteredFit& fit) {
  return fit.driver == std::this_thread::get_id();
}

}  // namespace

void RegisteredFit::request() {
  std::lock_guard lock(request_mutex);
  if (make_request) make_request();
}

bool RegisteredFit::uses(const std::set<std::string>& names) const {
  return std::ranges::any_of(names, [&](const auto& name) { return parameters.contains(name); });
}

StepBoundaries::StepBoundaries(std::shared_ptr<ParameterStore> store, std::set<std::string> parameters, Open open,
                               std::function<void()> request)
    : store_(std::move(store)), fit_(std::make_shared<RegisteredFit>()) {
  fit_->make_request = std::move(request);
  fit_->parameters = std::move(parameters);
  fit_->driver = std::this_thread::get_id();
  fit_->opens_between_runs = open == Open::between_runs;
  std::lock_guard lock(store_->state_->mutex);
  store_->state_->fits.push_back(fit_);
  // Readers of an earlier fit may have got other values since its end.
  store_->state_->drop_versions(fit_->parameters);
}

StepBoundaries::~StepBoundaries() {
  {
    std::lock_guard lock(fit_->request_mutex);
    fit_->make_request = {};
  }
  auto& state = *store_->state_;
  std::lock_guard lock(state.mutex);
  state.drop_versions(fit_->parameters);
  std::erase(state.fits, fit_);
  if (state.fits.empty()) state.published.clear();
  state.access_over.notify_all();
}

void StepBoundaries::set_driver() {
  std::lock_guard lock(store_->state_->mutex);
  fit_->driver = std::this_thread::get_id();
}

void StepBoundaries::clear_driver() {
  std::lock_guard lock(store_->state_->mutex);
  fit_->driver = {};
}

void StepBoundaries::open() {
  auto& state = *store_->state_;
  std::lock_guard lock(state.mutex);
  fit_->in_run = false;
  if (fit_->opens_between_runs) fit_->admits = RegisteredFit::kAll;
  state.access_over.notify_all();
}

void StepBoundaries::close(bool requested) {
  auto& state = *store_->state_;
  std::unique_lock lock(state.mutex);
  fit_->in_run = false;
  fit_->admits = requested || fit_->opens_between_runs ? state.next_visit : 0;
  state.access_over.notify_all();
  const auto is_awaited = [&](const auto& visit) {
    // A visit cannot begin before the end of a run that another fit of this thread makes.
    return visit.first < fit_->admits && fit_->uses(visit.second) && !state.drives_run(visit.second);
  };
  state.access_over.wait_for(lock, kVisitLimit, [&] { return std::ranges::none_of(state.visits, is_awaited); });
  fit_->admits = 0;
}

void StepBoundaries::publish() {
  auto& state = *store_->state_;
  std::unique_lock lock(state.mutex);
  state.publish(lock, *fit_);
}

void StepBoundaries::note_run() {
  auto& state = *store_->state_;
  std::lock_guard lock(state.mutex);
  fit_->in_run = true;
  fit_->run_begun = std::chrono::steady_clock::now();
}

// ---- the other side, in the store

ParameterStore::State::Visit::Visit(State& state, std::unique_lock<std::mutex>& lock, std::set<std::string> names)
    : state_(state) {
  if (state.drives_run(names)) return;
  number_ = state.next_visit++;
  state.visits.emplace(*number_, names);
  const auto is_admitted = [&] {
    return std::ranges::none_of(names, [&](const auto& name) { return state.is_written(name); }) &&
           state.admits(*number_, names);
  };
  if (is_admitted() || state.await_boundary(lock, names, Wanted::boundary, is_admitted)) return;
  end();
  throw Error("store", "the fit that uses the parameters has reached no step boundary within " +
                           std::to_string(kBoundaryLimit.count()) + " s");
}

void ParameterStore::State::Visit::end() {
  if (!number_) return;
  state_.visits.erase(*number_);
  state_.access_over.notify_all();
}

bool ParameterStore::State::admits(std::uint64_t visit, const std::set<std::string>& names) const {
  // A fit of this thread has no run now; one whose callback drives another fit on its thread has none, either.
  for (auto fit = fits.begin(); fit != fits.end(); ++fit) {
    if (visit < (*fit)->admits || !(*fit)->uses(names) || is_driven_here(**fit)) continue;
    const auto drives = [&](const auto& later) {
      return later->driver != std::thread::id() && later->driver == (*fit)->driver && later->uses(names);
    };
    if ((*fit)->in_run || std::none_of(fit + 1, fits.end(), drives)) return false;
  }
  return true;
}

bool ParameterStore::State::drives_run(const std::set<std::string>& names) const {
  return std::ranges::any_of(fits,
                             [&](const auto& fit) { return fit->in_run && is_driven_here(*fit) && fit->uses(names); });
}

bool ParameterStore::State::await_boundary(std::unique_lock<std::mutex>& lock, const std::set<std::string>& names,
                                           Wanted wanted, const std::function<bool()>& is_reached) {
  const auto deadline = std::chrono::steady_clock::now() + kBoundaryLimit;
  const auto is_over = [&] { return is_reached() || !is_used(names); };
  while (!is_over()) {
    std::vector<std::shared_ptr<RegisteredFit>> asked;
    auto earliest = std::chrono::steady_clock::time_point::min();
    for (const auto& fit : fits) {
      if (!fit->uses(names)) continue;
      asked.push_back(fit);
      earliest = std::max(earliest, fit->run_begun + kLeastRun);
    }
    if (access_over.wait_until(lock, earliest, is_over)) return true;
    request(lock, asked, wanted);
    if (access_over.wait_for(lock, kRequestAgain, is_over)) return true;
    if (std::chrono::steady_clock::now() >= deadline) return false;
  }
  return true;
}

void ParameterStore::State::request(std::unique_lock<std::mutex>& lock,
                                    const std::vector<std::shared_ptr<RegisteredFit>>& asked, Wanted wanted) {
  const auto now = std::chrono::steady_clock::now();
  for (const auto& fit : asked) {
    fit->last_request = now;
    if (wanted == Wanted::version) fit->is_version_wanted = true;
  }
  lock.unlock();
  for (const auto& fit : asked) fit->request();
  lock.lock();
}

void ParameterStore::State::request_version(std::unique_lock<std::mutex>& lock, const std::set<std::string>& names) {
  const auto now = std::chrono::steady_clock::now();
  std::vector<std::shared_ptr<RegisteredFit>> asked;
  for (const auto& fit : fits)
    if (fit->in_run && fit->uses(names) &&
        now >= std::max(fit->run_begun + kLeastRun, fit->last_request + kRequestAgain))
      asked.push_back(fit);
  if (!asked.empty()) request(lock, asked, Wanted::version);
}

bool ParameterStore::State::is_written(const std::string& name) const {
  const auto entry = parameters.find(name);
  return entry != parameters.end() &&
         std::ranges::any_of(entry->second.copies, [](const auto& copy) { return !copy.second.writer.empty(); });
}

bool ParameterStore::State::is_used(const std::set<std::string>& names) const {
  return std::ranges::any_of(fits, [&](const auto& fit) { return fit->uses(names); });
}

bool ParameterStore::State::are_in_run(const std::set<std::string>& names) const {
  return std::ranges::any_of(fits, [&](const auto& fit) { return fit->in_run && fit->uses(names); }) ||
         std::ranges::any_of(names, [&](const auto& name) { return is_written(name); });
}

}  // namespace troupe
