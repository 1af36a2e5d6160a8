#pragma once

#include <memory>

#include "troupe/actors/control/run_coordinator.hpp"
#include "troupe/transport/link.hpp"

namespace troupe {

/// A part of another process, at the coordinator: passes orders on to it, and its reports to the coordinator. Its
/// counterpart there is a RunFollower. Runs go on without a part that is expendable, and gone.
class RemotePart {
 public:
  RemotePart(std::shared_ptr<RunCoordinator> coordinator, std::shared_ptr<Link> link, int process, bool has_sources,
             RunCoordinator::Attendance attendance = RunCoordinator::Attendance::needed);
  ~RemotePart();
  RemotePart(const RemotePart&) = delete;
  RemotePart& operator=(const RemotePart&) = delete;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace troupe
