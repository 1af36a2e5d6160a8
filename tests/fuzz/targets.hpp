#pragma once

#include "troupe/tests/fuzz/input.hpp"

/// Each takes what arrives from another process, as the code that receives it does. They throw Error if it is damaged,
/// and nothing else.
namespace troupe::fuzz {

void agreement(Input& input);
void answer(Input& input);
void assembly(Input& input);
void call(Input& input);
void collective(Input& input);
void failure(Input& input);
void frame(Input& input);
void hello(Input& input);
void job_status(Input& input);
void membership(Input& input);
void packet(Input& input);
void recording(Input& input);
void run_frame(Input& input);

}  // namespace troupe::fuzz
