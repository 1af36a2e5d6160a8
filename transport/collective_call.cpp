#include "troupe/transport/collective_call.hpp"

#include <algorithm>

namespace troupe {

namespace {

void expect_multiple(const char* place, const Tensor& whole, const Tensor& part, int ranks) {
  if (whole.dtype() != part.dtype() || whole.elements() != part.elements() * ranks)
    throw Error(place, to_string(whole) + " is not " + std::to_string(ranks) + " times " + to_string(part));
}

}  // namespace

bool Abort::set(FailurePtr failure) {
  std::lock_guard lock(mutex_);
  if (is_set()) return false;
  failure_ = std::move(failure);
  set_.store(true, std::memory_order_release);
  return true;
}

FailurePtr Abort::failure() const {
  if (!is_set()) return nullptr;
  std::lock_guard lock(mutex_);
  return failure_;
}

std::string to_string(const CallSignature& signature) {
  const auto& form = form_of(signature.kind);
  std::string name = form.name;
  if (signature.kind == CollectiveKind::barrier) return name;
  return name + " of " + std::to_string(signature.elements) + " " + std::string(name_of(signature.dtype)) +
         (form.has_root ? " from rank " + std::to_string(signature.root) : "");
}

CallSignature signature_of(CollectiveKind kind, const Tensor& input, const Tensor& output, int rank, int ranks,
                           int root) {
  const auto& form = form_of(kind);
  expect_rank(root, ranks);
  if (kind == CollectiveKind::barrier) return {};
  if (form.output == OutputSize::gathered) expect_multiple(form.name, output, input, ranks);
  const int common_root = form.has_root ? root : 0;
  if (form.output != OutputSize::scattered) return {kind, input.dtype(), input.elements(), common_root};
  if (has_input(kind, rank, root)) expect_multiple(form.name, input, output, ranks);
  return {kind, output.dtype(), output.elements() * ranks, common_root};
}

FailurePtr disagreement(std::int64_t number, const CallSignature& first, int first_rank, const CallSignature& second,
                        int second_rank) {
  return std::make_shared<Failure>(Failure{
      .what = "[communicator] collective " + std::to_string(number) + " is " + to_string(first) + " on rank " +
              std::to_string(first_rank) + " but " + to_string(second) + " on rank " + std::to_string(second_rank)});
}

Slice slice_of(std::int64_t elements, int ranks, int rank) {
  constexpr std::int64_t kLine = 16;
  const auto share = ((elements + ranks - 1) / ranks + kLine - 1) / kLine * kLine;
  const auto first = std::min(elements, share * rank);
  return {first, std::min(elements, first + share) - first};
}

Tensor part_of(const Tensor& tensor, const Slice& slice) {
  return tensor.view(Shape{slice.count}, static_cast<std::size_t>(slice.first) * size_of(tensor.dtype()));
}

void expect_rank(int rank, int ranks) {
  if (rank < 0 || rank >= ranks)
    throw Error("communicator", "there is no rank " + std::to_string(rank) + " among " + std::to_string(ranks));
}

void expect_alike(const Tensor& sent, int from, const Tensor& expected, int to) {
  if (sent.bytes() != expected.bytes() || sent.dtype() != expected.dtype())
    throw Error("recv", "rank " + std::to_string(from) + " sent " + to_string(sent) + " where rank " +
                            std::to_string(to) + " expected " + to_string(expected));
}

}  // namespace troupe
