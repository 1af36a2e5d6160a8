#include "troupe/transport/nccl/nccl_ranks.hpp"

#include <cstring>
#include <thread>
#include <utility>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/cuda/device/check.hpp"
#include "troupe/transport/device/launched_work.hpp"

namespace troupe::nccl {

namespace {

// The state of a communicator is polled kEagerLooks times without a pause, then at intervals of kPause.
constexpr int kEagerLooks = 1'000;
constexpr std::chrono::microseconds kPause{50};

bool is_fine(ncclResult_t result) {
  return result == ncclSuccess || result == ncclInProgress;
}

}  // namespace

NcclRanks::NcclRanks(const NcclGroupOptions& options)
    : size_(options.size), local_(options.local), limit_(options.limit), comms_(options.local.size(), nullptr) {
  ncclUniqueId id;
  static_assert(sizeof id == sizeof options.id);
  std::memcpy(&id, options.id.data(), sizeof id);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  const auto connect = [&](std::size_t i, ncclComm_t) {
    const cuda::CurrentDevice current(local_[i].device.index);
    return nccl_library().init_rank(&comms_[i], options.size, id, local_[i].rank, &config);
  };
  try {
    call_for_all("connecting", connect);
    settle(
        "meeting the other ranks", options.check ? options.check : [] {});
  } catch (...) {
    abort();
    throw;
  }
}

void NcclRanks::call_for_all(const char* activity, const Call& call) const {
  const auto& library = nccl_library();
  library.group_start();
  std::size_t at = 0;
  auto result = ncclSuccess;
  for (; at < comms_.size() && is_fine(result); ++at) result = call(at, comms_[at]);
  // ncclGroupEnd() is called also after an error: without it NCCL would add later calls of this thread to the group
  // call.
  const auto ended = library.group_end();
  if (!is_fine(result)) refuse(activity, at - 1, result);
  if (!is_fine(ended)) refuse(activity, 0, ended);
}

NcclRanks::~NcclRanks() {
  if (comms_.front() == nullptr) return;
  const auto& library = nccl_library();
  try {
    library.group_start();
    for (const auto comm : comms_) library.finalize(comm);
    library.group_end();
    settle("finishing", [] {});
    library.group_start();
    for (auto& comm : comms_) library.destroy(std::exchange(comm, nullptr));
    library.group_end();
  } catch (const Error&) {
    abort();
  }
}

ncclResult_t NcclRanks::state_of(std::size_t local) const {
  auto state = ncclSuccess;
  const auto result = nccl_library().async_error(comms_[local], &state);
  return result == ncclSuccess ? state : result;
}

void NcclRanks::settle(const char* activity, const Check& check) const {
  const auto deadline = Clock::now() + limit_;
  for (std::size_t i = 0; i < comms_.size(); ++i) {
    auto state = state_of(i);
    for (int looks = 0; state == ncclInProgress; ++looks) {
      check();
      if (Clock::now() > deadline)
        throw Error("nccl", device::names_of({local_[i]}) + ": " + activity + " takes longer than " +
                                std::to_string(limit_.count()) + " ms");
      if (looks < kEagerLooks)
        std::this_thread::yield();
      else
        std::this_thread::sleep_for(kPause);
      state = state_of(i);
    }
    if (state != ncclSuccess) refuse(activity, i, state);
  }
}

void NcclRanks::refuse(const char* activity, std::size_t local, ncclResult_t result) const {
  throw Error("nccl", device::names_of({local_[local]}) + ": " + activity + ": " + text_of(local, result));
}

/// Returns NCCL's text for a result of a local rank. For ncclRemoteError and ncclSystemError the text also names all
/// ranks of other processes, because NCCL does not tell which process it has lost.
std::string NcclRanks::text_of(std::size_t local, ncclResult_t result) const {
  auto text = nccl::text_of(result, comms_[local]);
  const bool are_others = static_cast<int>(local_.size()) < size_;
  if (are_others && (result == ncclRemoteError || result == ncclSystemError))
    text += "; of other processes: " + device::names_of_others(local_, size_);
  return text;
}

void NcclRanks::launch(const Call& call, const Check& check) {
  call_for_all("launching", call);
  settle("launching", check);
}

FailurePtr NcclRanks::async_failure() const {
  for (std::size_t i = 0; i < comms_.size(); ++i) {
    if (comms_[i] == nullptr) return nullptr;
    const auto state = state_of(i);
    if (is_fine(state)) continue;
    return std::make_shared<Failure>(Failure{
        .kind = FailureKind::part_died, .what = "[nccl] " + device::names_of({local_[i]}) + ": " + text_of(i, state)});
  }
  return nullptr;
}

void NcclRanks::abort() noexcept {
  for (auto& comm : comms_)
    if (comm != nullptr) nccl_library().abort(std::exchange(comm, nullptr));
}

}  // namespace troupe::nccl
