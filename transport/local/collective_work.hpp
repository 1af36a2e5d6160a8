#pragma once

#include <array>
#include <memory>

#include "troupe/transport/local/group.hpp"

namespace troupe::local {

/// One rank's part of a collective.
struct RankCall {
  int rank = 0, ranks = 1, root = 0;
  Tensor input, output;
};

/// One rank's way through a collective: `reduce` after all arrived, `copy` after all reduced.
class CollectiveWork final : public Work {
 public:
  /// Null: nothing to do.
  using Piece = void (*)(const RankCall& call, PendingCollective& pending);

  CollectiveWork(std::shared_ptr<Group> group, std::shared_ptr<PendingCollective> pending, RankCall call, Piece reduce,
                 Piece copy);
  ~CollectiveWork() override;

  // The memory of works that are destroyed is used again: a step then allocates none.
  static void* operator new(std::size_t size);
  static void operator delete(void* memory);

  bool advance() override;
  std::string waits_for() const override;

 private:
  bool advance_phases();

  std::shared_ptr<Group> group_;
  std::shared_ptr<PendingCollective> pending_;
  RankCall call_;
  std::array<Piece, 2> pieces_;
  int waiting_for_ = PendingCollective::arrived;
};

}  // namespace troupe::local
