#include "troupe/ops/core/exact_convolutions.hpp"

#include <atomic>

namespace troupe {

namespace {

std::atomic<bool> all_are_direct{false};

}  // namespace

void set_exact_convolutions(bool exact) {
  all_are_direct = exact;
}

bool exact_convolutions() {
  return all_are_direct;
}

}  // namespace troupe
