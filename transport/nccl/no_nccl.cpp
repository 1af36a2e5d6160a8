#include "troupe/ops/core/error.hpp"
#include "troupe/transport/nccl/nccl_group.hpp"

namespace troupe {

namespace {

[[noreturn]] void refuse() {
  throw Error("nccl", "this build has no NCCL");
}

}  // namespace

bool has_nccl() {
  return false;
}

NcclId make_nccl_id() {
  refuse();
}

std::shared_ptr<Communicator> make_nccl_group(const NcclGroupOptions&) {
  refuse();
}

}  // namespace troupe
