#pragma once

#include <memory>

#include "troupe/actors/control/run_coordinator.hpp"
#include "troupe/transport/link.hpp"

namespace troupe {

/// The coordinator's side of a part in another process: passes orders on to the part, and its reports to the
/// coordinator. The counterpart in that process is a RunFollower. Runs go on without an expendable part that is gone.
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
