#pragma once

#include <array>
#include <memory>

#include "troupe/transport/local/group.hpp"

namespace troupe::local {

/// The part of one rank in a collective.
struct RankCall {
  int rank = 0, ranks = 1, root = 0;
  Tensor input, output;
};

/// The work of one rank after all have arrived, and after all have reduced. Null: nothing to do.
struct Pieces {
  using Piece = void (*)(const RankCall& call, PendingCollective& pending);

  Piece reduce = nullptr, copy = nullptr;
};

/// The way of one rank through the phases of a collective.
class CollectiveWork final : public HostWork {
 public:
  CollectiveWork(std::shared_ptr<Group> group, std::shared_ptr<PendingCollective> pending, RankCall call,
                 const Pieces& pieces);
  ~CollectiveWork() override;

  bool advance(std::size_t local) override;
  std::string waits_for(std::size_t local) const override;
  void listen(std::size_t local, ProgressListener listener) override;

 private:
  bool advance_phases();

  std::shared_ptr<Group> group_;
  std::shared_ptr<PendingCollective> pending_;
  RankCall call_;
  std::array<Pieces::Piece, 2> pieces_;
  int waiting_for_ = PendingCollective::arrived;
};

}  // namespace troupe::local
