#pragma once

#include <cstdio>
#include <string>

namespace troupe::bench {

/// Prints a figure in the form that the queue (bench/gpu/queue) reads. Prints nothing if the name is empty.
inline void print_figure(const std::string& name, const std::string& quantity, double value, const char* unit) {
  if (!name.empty()) std::printf("figure %s_%s %.6g %s\n", name.c_str(), quantity.c_str(), value, unit);
}

}  // namespace troupe::bench
