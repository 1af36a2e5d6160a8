#pragma once

#include <functional>

namespace emulated_cuda {

/// Runs the work on a thread that runs nothing else until it is done: one whose work is done, or a new one, which costs
/// the clearing of all `__shared__` memory. The threads are never joined: one that waits for what does not come would
/// keep the process from its end. May be called from any thread. Throws std::system_error if no thread can be started.
void run_on_thread(std::function<void()> work);

}  // namespace emulated_cuda
