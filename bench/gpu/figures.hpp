#pragma once

#include <cstdio>
#include <string>

namespace troupe::bench {

/// Prints the line by which an entry of the queue (bench/gpu/queue) knows a figure. An empty name: prints nothing.
inline void print_figure(const std::string& name, const std::string& what, double value, const char* unit) {
  if (!name.empty()) std::printf("figure %s_%s %.6g %s\n", name.c_str(), what.c_str(), value, unit);
}

}  // namespace troupe::bench
