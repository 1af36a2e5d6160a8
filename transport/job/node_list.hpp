#pragma once

#include <string>
#include <vector>

namespace troupe {

/// The hosts of a list in Slurm's notation, in order: `gnode[10,20-22],login1`. Numbers keep their leading zeros; a
/// name may have several brackets. `name` is the name of the variable, for error texts. Throws Error if the list is
/// malformed or names more than 65,536 hosts.
std::vector<std::string> expand_node_list(const std::string& name, const std::string& text);

/// The numbers of a list in Slurm's notation: `2(x3),1` is 2, 2, 2, 1. Throws Error like expand_node_list().
std::vector<int> expand_task_counts(const std::string& name, const std::string& text);

}  // namespace troupe
