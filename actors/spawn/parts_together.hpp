#pragma once

#include <map>
#include <memory>
#include <vector>

#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/transport/link.hpp"

namespace troupe {

// What joins the parts of a plan that are all in this process; ClusterRun is its counterpart for parts elsewhere.

/// Communicators that no context names are made here: all ranks live in this process.
void make_communicators(const Plan& plan, std::vector<PartSetup>& parts);
/// A link between every two parts: links[a][b] is a's end of the link to b.
std::vector<std::map<int, std::shared_ptr<Link>>> make_links(int parts);

}  // namespace troupe
