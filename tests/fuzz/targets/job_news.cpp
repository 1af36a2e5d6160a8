#include "troupe/strategies/training/job_news.hpp"

#include "troupe/tests/fuzz/targets.hpp"

namespace troupe::fuzz {

/// What process 0 tells a worker.
void job_news(Input& input) {
  const auto bytes = input.rest();
  (void)JobNews::decode(bytes).encode();
}

}  // namespace troupe::fuzz
