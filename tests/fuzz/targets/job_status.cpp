#include "troupe/strategies/training/job_status.hpp"

#include "troupe/tests/fuzz/targets.hpp"

namespace troupe::fuzz {

/// A status message of rank 0 to a worker.
void job_status(Input& input) {
  const auto bytes = input.rest();
  (void)JobStatus::decode(bytes).encode();
}

}  // namespace troupe::fuzz
