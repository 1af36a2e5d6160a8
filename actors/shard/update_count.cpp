#include "troupe/actors/shard/update_count.hpp"

#include <algorithm>

#include "troupe/actors/store/parameter_store.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

// float32 holds all integers below this one.
constexpr std::int64_t kBase = std::int64_t{1} << 24;

std::int64_t number_in(std::span<const float> pair) {
  return static_cast<std::int64_t>(pair[0]) * kBase + static_cast<std::int64_t>(pair[1]);
}

void write_number(std::int64_t number, std::span<float> pair) {
  pair[0] = static_cast<float>(number / kBase);
  pair[1] = static_cast<float>(number % kBase);
}

}  // namespace

bool UpdateCount::is_name(const std::string& parameter) {
  return parameter.starts_with(kOfGradients) || parameter.starts_with(kOfChanges);
}

UpdateCount UpdateCount::read(const Tensor& state) {
  const auto numbers = state.data<float>();
  return {number_in(numbers.first(2)), number_in(numbers.subspan(2))};
}

void UpdateCount::write(const Tensor& state) const {
  const auto numbers = state.mutable_data<float>();
  write_number(updates, numbers.first(2));
  write_number(step, numbers.subspan(2));
}

void UpdateCount::note_step(ParameterStore& store, const std::string& name, std::int64_t step) {
  try {
    const auto entries = store.entries();
    if (std::ranges::find(entries, name, &ParameterStore::Entry::name) == entries.end()) return;
    if (auto version = store.newest(name)) {
      auto count = read(version->value);
      count.step = step;
      count.write(version->value);
      return store.adopt(name, *version);
    }
    // All copies are broken. A count of no step makes the next run begin at the number of its step.
    const Tensor unknown(info().shape, info().dtype);
    UpdateCount{.step = -1}.write(unknown);
    store.set(name, unknown);
  } catch (const Error&) {
    // A run that has failed still uses the copy. The step of the count is then not that of the next run, which begins
    // at the number of its step.
  }
}

}  // namespace troupe
