#pragma once

#include <cstdint>
#include <string>

#include "troupe/ops/pipeline/pipeline.hpp"
#include "troupe/strategies/step/batch_source.hpp"

namespace troupe {

struct PipelineOptions {
  /// The seed of the pipeline's random numbers.
  std::uint64_t seed = 0;
  /// The number of actors that compute rows ahead on the threads of the runtime. 0: usable_cores().
  int threads = 0;
};

/// Makes the batches of a pipeline the batches of a fit or an evaluation. An actor named `name` reads the pipeline and
/// sends the batches to all replicas. Epoch e of the fit reads epoch e of the pipeline. A fit that goes on within an
/// epoch, for example after Trainer::resume(), gets the next batches. The pipeline continues at the position in the
/// checkpoint, or where an earlier fit on this source has stopped; without such a position, an indexed pipeline is read
/// from the next batch on, and any other reads the batches before again. Throws Error if the rows of the pipeline are
/// no batches, the size of an axis besides the rows varies, or the number of threads is negative.
BatchSource batch_source(std::string name, const Pipeline& pipeline, PipelineOptions options = {});

}  // namespace troupe
