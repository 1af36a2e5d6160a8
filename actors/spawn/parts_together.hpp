#pragma once

#include <map>
#include <memory>
#include <vector>

#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/transport/link.hpp"

namespace troupe {

// Communicators and links between parts of a plan that are all in this process. ClusterRun is the counterpart for parts
// in other processes.

/// Makes the communicators that no context names. All ranks live in this process.
void make_communicators(const Plan& plan, std::vector<PartSetup>& parts);
/// Makes a link between every two parts: links[a][b] is a's end of the link to b.
std::vector<std::map<int, std::shared_ptr<Link>>> make_links(int parts);

}  // namespace troupe
