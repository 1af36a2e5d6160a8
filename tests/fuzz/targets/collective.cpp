#include "troupe/ops/core/error.hpp"
#include "troupe/tests/fuzz/frames.hpp"
#include "troupe/tests/fuzz/targets.hpp"
#include "troupe/transport/communicator.hpp"

namespace troupe::fuzz {

namespace {

std::shared_ptr<Work> begin(Communicator& group, int kind) {
  const auto input = Tensor(Shape{8}, DType::float32);
  switch (kind % 6) {
    case 0:
      return group.all_reduce(input);
    case 1:
      return group.all_reduce(Tensor(Shape{1'040}, DType::float32));  // summed in slices
    case 2:
      return group.all_gather(input, Tensor(Shape{16}, DType::float32));
    case 3:
      return group.broadcast(input, 1);
    case 4:
      return group.recv(input, 1);
    default:
      return group.scatter({}, input, 1);
  }
}

}  // namespace

/// What another rank contributes to a collective.
void collective(Input& input) {
  const auto kind = input.byte();
  const auto link = std::make_shared<ScriptedLink>(read_frames(input));
  const auto group = make_linked_communicator(0, {nullptr, link});
  try {
    for (const auto work = begin(*group, kind); !work->advance();) {
    }
  } catch (const Error&) {
    // It does not fit, or the other rank is gone.
  }
}

}  // namespace troupe::fuzz
