#include "troupe/actors/store/step_boundaries.hpp"

#include <algorithm>
#include <cstring>

#include "troupe/actors/store/parameter_store_state.hpp"
#include "troupe/ops/core/backend.hpp"

namespace troupe {

namespace {

/// The longest time that a thread waits for a step boundary.
constexpr std::chrono::seconds kBoundaryLimit{60};
/// The shortest time between a boundary and the request for the next one.
constexpr std::chrono::milliseconds kLeastRun{1};
/// The longest time that a fit waits for the threads that use a boundary.
constexpr std::chrono::seconds kVisitLimit{10};

void copy_elements(const Tensor& from, const Tensor& to) {
  if (from.host_accessible() && to.host_accessible())
    std::memcpy(to.mutable_raw(), from.raw(), from.bytes());
  else
    copy_and_wait(from, to);
}

}  // namespace

void RegisteredFit::request() {
  std::lock_guard lock(request_mutex);
  if (make_request) make_request();
}

StepBoundaries::StepBoundaries(std::shared_ptr<ParameterStore> store, Open open, std::function<void()> request)
    : store_(std::move(store)), fit_(std::make_shared<RegisteredFit>()) {
  fit_->make_request = std::move(request);
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
    state.published = state.spare = nullptr;
    state.wanted.clear();
  }
  state.access_over.notify_all();
}

void StepBoundaries::set_driver(std::thread::id thread) {
  std::lock_guard lock(store_->state_->mutex);
  fit_->driver = thread;
}

void StepBoundaries::open() {
  auto& state = *store_->state_;
  std::lock_guard lock(state.mutex);
  if (fit_->opens_between_runs) fit_->admits = RegisteredFit::kAll;
  state.access_over.notify_all();
}

void StepBoundaries::close(bool requested) {
  auto& state = *store_->state_;
  std::unique_lock lock(state.mutex);
  const bool lets_in = requested || fit_->opens_between_runs;
  if (lets_in) state.boundary_requested = false;
  fit_->admits = lets_in ? state.next_visit : 0;
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

bool StepBoundaries::run_has_begun() {
  auto& state = *store_->state_;
  std::lock_guard lock(state.mutex);
  state.last_boundary = std::chrono::steady_clock::now();
  return state.boundary_requested;
}

// ---- the other side, in the store

ParameterStore::State::Visit::Visit(State& state, std::unique_lock<std::mutex>& lock,
                                    const std::function<bool()>& is_free)
    : state_(state) {
  if (state.is_driver()) return;
  number_ = state.next_visit++;
  state.visits.insert(*number_);
  const auto admitted = [&] { return is_free() && state.admits(*number_); };
  if (!admitted() && !state.fits.empty()) state.await_boundary(lock, admitted);
}

ParameterStore::State::Visit::~Visit() {
  if (!number_) return;
  state_.visits.erase(*number_);
  state_.access_over.notify_all();
}

bool ParameterStore::State::admits(std::uint64_t visit) const {
  for (auto fit = fits.begin(); fit != fits.end(); ++fit) {
    // A fit whose callback drives another fit has no run meanwhile.
    const auto drives = [&](const auto& later) { return later->driver == (*fit)->driver; };
    if (visit >= (*fit)->admits && std::none_of(fit + 1, fits.end(), drives)) return false;
  }
  return true;
}

bool ParameterStore::State::is_driver() const {
  return std::ranges::any_of(fits, [](const auto& fit) { return fit->driver == std::this_thread::get_id(); });
}

void ParameterStore::State::await_boundary(std::unique_lock<std::mutex>& lock,
                                           const std::function<bool()>& is_reached) {
  if (access_over.wait_until(lock, last_boundary + kLeastRun, is_reached)) return;
  request_boundary(lock);
  access_over.wait_for(lock, kBoundaryLimit, is_reached);
}

void ParameterStore::State::request_boundary(std::unique_lock<std::mutex>& lock) {
  boundary_requested = true;
  const auto asked = fits;
  lock.unlock();
  for (const auto& fit : asked) fit->request();
  lock.lock();
}

bool ParameterStore::State::is_written(const ParameterRef& ref) const {
  return !find(ref).writer.empty();
}

bool ParameterStore::State::is_written(const std::string& name) const {
  const auto entry = parameters.find(name);
  return entry != parameters.end() &&
         std::ranges::any_of(entry->second.copies, [](const auto& copy) { return !copy.second.writer.empty(); });
}

bool PublishedVersion::has(const std::vector<ParameterRef>& refs) const {
  return std::ranges::all_of(refs, [&](const ParameterRef& ref) { return values.contains(ref); });
}

std::shared_ptr<const PublishedVersion> ParameterStore::State::await_version(std::unique_lock<std::mutex>& lock,
                                                                             const std::vector<ParameterRef>& refs) {
  const auto writes = [&] { return std::ranges::any_of(refs, [&](const auto& ref) { return is_written(ref); }); };
  const auto has_version = [&] { return published && published->has(refs); };
  if (!writes() || fits.empty()) return nullptr;
  if (!has_version() && is_driver()) return nullptr;
  if (!has_version()) {
    wanted.insert(refs.begin(), refs.end());
    await_boundary(lock, [&] { return !writes() || has_version() || fits.empty(); });
  }
  return writes() && has_version() ? published : nullptr;
}

void ParameterStore::State::request_version(std::unique_lock<std::mutex>& lock, const std::vector<ParameterRef>& refs) {
  const bool complete = std::ranges::all_of(refs, [&](const auto& ref) { return wanted.contains(ref); });
  if (version_requested && complete) return;
  wanted.insert(refs.begin(), refs.end());
  version_requested = true;
  request_boundary(lock);
}

void ParameterStore::State::publish(std::unique_lock<std::mutex>& lock) {
  if (wanted.empty()) return;
  version_requested = false;
  const auto is_gone = [&](const ParameterRef& ref) {
    const auto entry = parameters.find(ref.name);
    return entry == parameters.end() || !entry->second.copies.contains(ref.replica) || is_written(ref);
  };
  std::erase_if(wanted, is_gone);
  auto version = spare && spare.use_count() == 1 ? std::move(spare) : std::make_shared<PublishedVersion>();
  std::erase_if(version->values, [&](const auto& value) { return !wanted.contains(value.first); });
  std::vector<std::pair<Tensor, Tensor>> copies;
  for (const auto& ref : wanted) {
    refresh(ref);
    const auto& copy = find(ref);
    if (!copy.broken.empty()) return;
    auto& value = version->values[ref];
    if (!value) value = Tensor(copy.tensor.shape(), copy.tensor.dtype(), copy.tensor.device());
    copies.emplace_back(copy.tensor, value);
  }
  // The elements are copied without the lock. The copies count as read meanwhile, so that nothing sets them.
  for (const auto& ref : wanted) ++find(ref).accesses;
  const auto read = wanted;
  lock.unlock();
  for (const auto& [from, to] : copies) copy_elements(from, to);
  lock.lock();
  for (const auto& ref : read) --find(ref).accesses;
  version->at = std::chrono::steady_clock::now();
  spare = std::exchange(published, std::move(version));
  access_over.notify_all();
}

}  // namespace troupe
