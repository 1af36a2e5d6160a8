#include "troupe/actors/ports/held_arrivals.hpp"

#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

Arrival arrival_of(std::uint32_t slot, const Tensor& tensor) {
  return {.slot = slot, .tensor = tensor};
}

using Places = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

Places places(const std::vector<HeldArrivals::Origin>& origins) {
  Places inputs_and_slots;
  for (const auto& from : origins) inputs_and_slots.emplace_back(from.input, from.slot);
  return inputs_and_slots;
}

}  // namespace

TEST_CASE("what is held can be returned once, by input and slot") {
  HeldArrivals held;
  const auto arrival = arrival_of(1, Tensor({4}, DType::float32));
  held.add(2, arrival);
  CHECK(!held.remove(1, arrival));
  CHECK(!held.remove(2, arrival_of(0, arrival.tensor)));
  CHECK(held.remove(2, arrival));
  CHECK(!held.remove(2, arrival));
  CHECK(held.empty());
}

TEST_CASE("a tensor that was sent on, or a part of it, is kept longer than others") {
  HeldArrivals held;
  const Tensor sent_whole({4}, DType::float32), sent_in_part({4}, DType::float32), kept({4}, DType::float32);
  held.add(0, arrival_of(0, sent_whole));
  held.add(1, arrival_of(1, kept));
  held.add(2, arrival_of(2, sent_in_part));
  held.add(3, arrival_of(3, {}));
  held.note_sent(sent_whole);
  held.note_sent(sent_in_part.rows(3, 1));
  held.note_sent(kept.clone());
  held.note_sent({});
  CHECK_THAT(places(held.take_unsent()), Catch::Matchers::UnorderedEquals(Places{{1, 1}, {3, 3}}));
  CHECK(!held.empty());
  CHECK(held.take_unsent().empty());
  CHECK_THAT(places(held.take_all()), Catch::Matchers::UnorderedEquals(Places{{0, 0}, {2, 2}}));
  CHECK(held.empty());
}
