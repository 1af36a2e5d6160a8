#include "troupe/actors/load/epoch_order.hpp"

#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

Dataset numbered(std::int64_t rows) {
  return Dataset::from_arrays({{"x", Tensor(Shape{rows}, DType::float32)}}).batch(8);
}

std::vector<std::int32_t> taken(EpochOrder& orders, std::int64_t epoch) {
  return orders.of(epoch).all();
}

}  // namespace

TEST_CASE("epochs in any order, and again, have the order of the data set") {
  for (const auto& data : {numbered(100).shuffle(100), numbered(100).shuffle()}) {
    EpochOrder orders(data, 5);
    for (const std::int64_t epoch : {0, 1, 2, 2, 7, 8, 3, 0, 1}) CHECK(taken(orders, epoch) == data.order(5, epoch));
    CHECK(taken(orders, 2) != taken(orders, 3));
  }
}

TEST_CASE("data that are not shuffled have one order") {
  const auto data = numbered(10);
  EpochOrder orders(data, 5);
  CHECK(taken(orders, 0) == data.order(5, 0));
  CHECK(taken(orders, 4) == data.order(5, 0));
}
