#include "troupe/actors/store/step_boundaries.hpp"

#include <algorithm>
#include <cstring>

#include "troupe/actors/store/parameter_store_state.hpp"
#include "troupe/ops/core/backend.hpp"
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

void copy_elements(const Tensor& from, const Tensor& to) {
  if (from.host_accessible() && to.host_accessible())
    std::memcpy(to.mutable_raw(), from.raw(), from.bytes());
  else
    copy_and_wait(from, to);
}

bool is_driven_here(const RegisteredFit& fit) {
  return fit.driver == std::this_thread::get_id();
}

}  // namespace

void RegisteredFit::request() {
  std::lock_guard lock(request_mutex);
  if (make_request) make_request();
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
}

StepBoundaries::~StepBoundaries() {
  {
    std::lock_guard lock(fit_->request_mutex);
    fit_->make_request = {};
  }
  auto& state = *store_->state_;
  std::lock_guard lock(state.mutex);
  std::erase(state.fits, fit_);
  if (state.fits.empty()) {
    state.published = nullptr;
    state.wanted.clear();
  }
  state.access_over.notify_all();
}

void StepBoundaries::set_driver() {
  std::lock_guard lock(store_->state_->mutex);
  fit_->driver = std::this_thread::get_id();
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
  state.access_over.wait_for(lock, kVisitLimit,
                             [&] { return state.visits.empty() || *state.visits.begin() >= fit_->admits; });
  fit_->admits = 0;
}

void StepBoundaries::publish() {
  auto& state = *store_->state_;
  std::unique_lock lock(state.mutex);
  state.publish(lock);
}

void StepBoundaries::note_run() {
  auto& state = *store_->state_;
  std::lock_guard lock(state.mutex);
  fit_->in_run = true;
  state.last_boundary = std::chrono::steady_clock::now();
}

// ---- the other side, in the store

ParameterStore::State::Visit::Visit(State& state, std::unique_lock<std::mutex>& lock,
                                    const std::function<bool()>& is_free)
    : state_(state) {
  if (state.drives_run()) return;
  number_ = state.next_visit++;
  state.visits.insert(*number_);
  const auto is_admitted = [&] { return is_free() && state.admits(*number_); };
  if (is_admitted() || state.fits.empty() || state.await_boundary(lock, is_admitted)) return;
  state.visits.erase(*number_);
  throw Error("store", "the fit that uses the parameters has reached no step boundary within " +
                           std::to_string(kBoundaryLimit.count()) + " s");
}

ParameterStore::State::Visit::~Visit() {
  if (!number_) return;
  state_.visits.erase(*number_);
  state_.access_over.notify_all();
}

bool ParameterStore::State::admits(std::uint64_t visit) const {
  // A fit of this thread has no run now; one whose callback drives another fit on its thread has none, either.
  for (auto fit = fits.begin(); fit != fits.end(); ++fit) {
    const auto drives = [&](const auto& later) { return later->driver == (*fit)->driver; };
    if (visit >= (*fit)->admits && !is_driven_here(**fit) && std::none_of(fit + 1, fits.end(), drives)) return false;
  }
  return true;
}

bool ParameterStore::State::drives_run() const {
  return std::ranges::any_of(fits, [](const auto& fit) { return fit->in_run && is_driven_here(*fit); });
}

bool ParameterStore::State::await_boundary(std::unique_lock<std::mutex>& lock,
                                           const std::function<bool()>& is_reached) {
  const auto deadline = std::chrono::steady_clock::now() + kBoundaryLimit;
  do {
    if (access_over.wait_until(lock, last_boundary + kLeastRun, is_reached)) return true;
    request_boundary(lock);
    if (access_over.wait_for(lock, kRequestAgain, is_reached)) return true;
  } while (std::chrono::steady_clock::now() < deadline);
  return false;
}

void ParameterStore::State::request_boundary(std::unique_lock<std::mutex>& lock) {
  const auto asked = fits;
  last_request = std::chrono::steady_clock::now();
  lock.unlock();
  for (const auto& fit : asked) fit->request();
  lock.lock();
}

bool ParameterStore::State::is_written(const std::string& name) const {
  const auto entry = parameters.find(name);
  return entry != parameters.end() &&
         std::ranges::any_of(entry->second.copies, [](const auto& copy) { return !copy.second.writer.empty(); });
}

bool ParameterStore::State::are_in_run(const std::vector<ParameterRef>& refs) const {
  return std::ranges::any_of(refs, [&](const ParameterRef& ref) {
    return is_written(ref.name) || std::ranges::any_of(fits, [&](const auto& fit) {
             return fit->in_run && fit->parameters.contains(ref.name);
           });
  });
}

bool PublishedVersion::has(const std::vector<ParameterRef>& refs) const {
  return std::ranges::all_of(refs, [&](const ParameterRef& ref) { return values.contains(ref); });
}

std::shared_ptr<const PublishedVersion> ParameterStore::State::await_version(std::unique_lock<std::mutex>& lock,
                                                                             const std::vector<ParameterRef>& refs) {
  if (fits.empty() || !are_in_run(refs)) return nullptr;
  const auto has_version = [&] { return published && published->has(refs); };
  if (!has_version()) {
    if (drives_run()) return nullptr;
    wanted.insert(refs.begin(), refs.end());
    await_boundary(lock, [&] { return !are_in_run(refs) || has_version() || fits.empty(); });
  }
  return are_in_run(refs) && has_version() ? published : nullptr;
}

void ParameterStore::State::request_version(std::unique_lock<std::mutex>& lock, const std::vector<ParameterRef>& refs) {
  const auto now = std::chrono::steady_clock::now();
  if (now < last_boundary + kLeastRun || now < last_request + kRequestAgain) return;
  wanted.insert(refs.begin(), refs.end());
  request_boundary(lock);
}

void ParameterStore::State::publish(std::unique_lock<std::mutex>& lock) {
  if (wanted.empty()) return;
  auto version = std::make_shared<PublishedVersion>();
  if (published) {
    // A version keeps the copies of other fits, and those for which other readers have asked before.
    version->values = published->values;
    for (const auto& [ref, value] : published->values) wanted.insert(ref);
  }
  std::map<ParameterRef, std::pair<Copy*, Device>> copied;
  for (const auto& ref : std::exchange(wanted, {})) {
    const auto entry = parameters.find(ref.name);
    if (entry == parameters.end() || !entry->second.copies.contains(ref.replica) || are_in_run({ref})) continue;
    auto& own = entry->second.copies.at(ref.replica);
    auto* from = is_behind(ref) ? const_cast<Copy*>(newest_whole(entry->second)) : &own;
    if (from->broken.empty()) copied.emplace(ref, std::pair{from, own.tensor.device()});
  }
  // The elements are copied without the lock. The copies count as read meanwhile, so that nothing sets them.
  for (const auto& [ref, source] : copied) ++source.first->accesses;
  lock.unlock();
  bool is_whole = true;
  try {
    for (const auto& [ref, source] : copied) {
      const auto& from = source.first->tensor;
      const Tensor to(from.shape(), from.dtype(), source.second);
      copy_elements(from, to);
      version->values[ref] = to;
    }
  } catch (const std::exception&) {
    // Memory has run out, for example. Readers go on with the version before; the fit does not end because of them.
    is_whole = false;
  }
  lock.lock();
  for (const auto& [ref, source] : copied) --source.first->accesses;
  version->at = std::chrono::steady_clock::now();
  if (is_whole) published = std::move(version);
  access_over.notify_all();
}

}  // namespace troupe
