#pragma once

#include <array>
#include <functional>
#include <memory>

#include "troupe/transport/local/group.hpp"

namespace troupe::local {

/// One rank's way through a collective: `reduce` after all arrived, `copy` after all reduced.
class CollectiveWork final : public Work {
 public:
  using Piece = std::function<void(PendingCollective&)>;

  CollectiveWork(std::shared_ptr<Group> group, std::shared_ptr<PendingCollective> pending, int rank, Piece reduce,
                 Piece copy);
  ~CollectiveWork() override;

  bool advance() override;
  std::string waits_for() const override;

 private:
  bool advance_phases();

  std::shared_ptr<Group> group_;
  std::shared_ptr<PendingCollective> pending_;
  int rank_;
  std::array<Piece, 2> pieces_;
  int waiting_for_ = PendingCollective::arrived;
};

}  // namespace troupe::local
