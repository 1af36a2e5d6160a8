#include "troupe/tests/ops/cases/misuses.hpp"

namespace troupe::ops_test {

std::vector<Misuse> update_misuses() {
  const Attributes sgd{{"momentum", 0.0}, {"clipped", false}};
  const Attributes adam{{"clipped", false}};
  const auto p = f32({3, 2}), rate = f32({});
  return {
      {"learning_rate", {i64({3})}},
      {"step_number", {i64({3})}},
      {"table_rate", {f32({0}), i64({4})}},
      {"table_rate", {f32({2, 3}), i64({4})}},
      {"lamb_update", {p, p, p, rate, f32({6}), rate}, adam},
      {"squares_update", {p, f32({6}), p, rate}, adam},
      {"assign", {p, f32({6})}},
      {"assign", {p, p, p}},
      {"accumulation", {i64({3}), rate}, {{"steps", std::int64_t{2}}}},
      {"accumulation", {i64({4}), p}, {{"steps", std::int64_t{2}}}},
      {"accumulation", {i64({4}), rate}, {{"steps", std::int64_t{0}}}},
      {"accumulate", {p, rate, rate, f32({6}), i64({4})}, {{"steps", std::int64_t{2}}}},
      {"accumulate", {p, p, rate, p, i64({4})}, {{"steps", std::int64_t{2}}}},
      {"accumulate", {p, rate, p, p, i64({4})}, {{"steps", std::int64_t{2}}}},
      {"accumulate", {p, rate, rate, p, i64({4}), p}, {{"steps", std::int64_t{2}}}},
      {"accumulate", {p, rate, rate, p, i64({4})}, {{"steps", std::int64_t{0}}}},
      {"accumulate", {p, rate, rate, p, i64({4}), p}, {{"steps", std::int64_t{2}}, {"weighted", true}}},
      {"average", {p, rate, f32({6}), p}},
      {"average", {p, rate, p, f32({6})}},
      {"average", {p, p, p, p}},
      {"average", {p, rate, p, p, p}},
      {"learning_rate", {f32({4})}},
      {"global_norm_factor", {f32({3}), i32({3})}},
      {"sgd_update", {p, f32({2, 3}), rate}, sgd},
      {"sgd_update", {p, p, f32({1})}, sgd},
      {"sgd_update", {p, p, rate}, sgd.with("momentum", 0.5)},
      {"sgd_update", {p, p, rate, p}, sgd.with("clipped", true)},
      {"adam_update", {p, p, p, rate, f32({6}), rate}, adam},
      {"sgd_update", {p, p, rate, i32({})}, sgd},
      {"sgd_update", {p, p, rate, rate, rate}, sgd},
      {"adam_update", {p, p, p, i64({}), p, rate}, adam},
      {"adam_update", {p, p, p, p, p, rate}, adam},
      {"adam_update", {p, p, p, rate, p, rate, p}, adam},
  };
}

}  // namespace troupe::ops_test
