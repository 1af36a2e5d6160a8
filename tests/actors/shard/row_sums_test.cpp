#include "troupe/actors/shard/row_sums.hpp"

#include <map>

#include "troupe/ops/core/random.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

constexpr std::int64_t kWidth = 3;

/// The gradients of a worker's lookups, and the factor of their sum.
struct Worker {
  std::vector<std::vector<std::int64_t>> rows;  // by lookup
  std::vector<std::vector<float>> gradients;
  float weight;
};

std::vector<Worker> random_workers(std::uint64_t seed, std::int64_t table) {
  std::vector<Worker> workers(3);
  for (std::uint64_t w = 0; w < workers.size(); ++w) {
    workers[w].weight = w == 1 ? 1.5F : 1.0F;
    for (std::uint64_t lookup = 0; lookup < 2; ++lookup) {
      auto& rows = workers[w].rows.emplace_back();
      auto& gradients = workers[w].gradients.emplace_back();
      for (std::uint64_t i = 0; i < 17; ++i) {
        rows.push_back(
            static_cast<std::int64_t>(uniform_below(static_cast<std::uint64_t>(table), seed, 10 * w + lookup, i)));
        for (std::uint64_t k = 0; k < kWidth; ++k)
          gradients.push_back(uniform(seed + 1, 10 * w + lookup, 3 * i + k) - 0.5F);
      }
    }
  }
  return workers;
}

/// The sum of replicas with the whole table: each scatters the gradients of every lookup into zeros, the last lookup
/// first; then the sums of the replicas are added.
std::vector<float> dense_sum(const std::vector<Worker>& workers, std::int64_t table) {
  std::vector<float> sum(static_cast<std::size_t>(table * kWidth));
  for (std::size_t w = 0; w < workers.size(); ++w) {
    std::vector<float> of_worker(sum.size());
    for (std::size_t lookup = workers[w].rows.size(); lookup-- > 0;) {
      std::vector<float> scattered(sum.size());
      for (std::size_t i = 0; i < workers[w].rows[lookup].size(); ++i)
        for (std::size_t k = 0; k < kWidth; ++k)
          scattered[static_cast<std::size_t>(workers[w].rows[lookup][i]) * kWidth + k] +=
              workers[w].gradients[lookup][i * kWidth + k];
      for (std::size_t i = 0; i < sum.size(); ++i) of_worker[i] += scattered[i];
    }
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += of_worker[i] * workers[w].weight;
  }
  return sum;
}

}  // namespace

TEST_CASE("gradients of rows are summed to the bits of dense ones") {
  constexpr std::int64_t kTable = 9;
  RowSums sums(kWidth);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto workers = random_workers(seed, kTable);
    sums.clear();
    for (std::size_t w = 0; w < workers.size(); ++w) {
      sums.add_weight(workers[w].weight);
      for (std::size_t lookup = 0; lookup < 2; ++lookup)
        for (std::size_t i = 0; i < workers[w].rows[lookup].size(); ++i)
          sums.add({workers[w].rows[lookup][i], static_cast<std::int32_t>(w), static_cast<std::int32_t>(lookup),
                    &workers[w].gradients[lookup][i * kWidth]});
    }
    sums.sum();
    CHECK(std::ranges::is_sorted(sums.rows()));
    std::vector<float> dense(kTable * kWidth);
    for (std::size_t i = 0; i < sums.rows().size(); ++i)
      std::copy_n(sums.gradient(i), kWidth, dense.begin() + sums.rows()[i] * kWidth);
    CHECK(dense == dense_sum(workers, kTable));
  }
}

TEST_CASE("without gradients there are no rows") {
  RowSums sums(kWidth);
  sums.sum();
  CHECK(sums.rows().empty());
}
