#include "troupe/transport/device/check_parts.hpp"

#include <string>

#include "troupe/ops/core/error.hpp"

namespace troupe::device {

namespace {

void expect_on(const Tensor& tensor, const DeviceRank& rank) {
  if (!tensor) throw Error("communicator", "rank " + std::to_string(rank.rank) + " brings no tensor");
  if (tensor.device() != rank.device)
    throw Error("communicator", "rank " + std::to_string(rank.rank) + " brings " + to_string(tensor) + ", but is on " +
                                    to_string(rank.device));
}

CallSignature signature_on(CollectiveKind kind, const Part& part, const DeviceRank& rank, int ranks, int root) {
  if (has_input(kind, rank.rank, root)) expect_on(part.input, rank);
  if (form_of(kind).output != OutputSize::in_place) expect_on(part.output, rank);
  return signature_of(kind, part.input, part.output, rank.rank, ranks, root);
}

}  // namespace

CallSignature check_parts(CollectiveKind kind, Communicator::Parts parts, const std::vector<DeviceRank>& local,
                          int ranks, int root) {
  expect_rank(root, ranks);
  if (kind == CollectiveKind::barrier) throw Error("communicator", "a group of devices has no barrier");
  if (parts.size() != local.size())
    throw Error("communicator", std::to_string(parts.size()) + " ranks of this process come, which has " +
                                    std::to_string(local.size()));
  const auto first = signature_on(kind, parts[0], local[0], ranks, root);
  if (form_of(kind).sums && first.dtype == DType::uint8) throw Error("all_reduce", "there is no sum of uint8");
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto other = signature_on(kind, parts[i], local[i], ranks, root);
    if (!(other == first))
      throw Error("communicator", to_string(first) + " on rank " + std::to_string(local[0].rank) + " but " +
                                      to_string(other) + " on rank " + std::to_string(local[i].rank));
  }
  return first;
}

}  // namespace troupe::device
