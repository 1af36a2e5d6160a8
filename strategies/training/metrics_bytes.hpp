#pragma once

#include "troupe/strategies/training/metrics.hpp"
#include "troupe/transport/bytes.hpp"

namespace troupe {

void write(ByteWriter& writer, const MetricValues& values);
/// Throws Error if the bytes end too early.
MetricValues read_values(ByteReader& reader);

}  // namespace troupe
