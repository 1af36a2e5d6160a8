#pragma once

#include <functional>

namespace emulated_cuda {

/// Runs the work on a thread that runs nothing else until the work is done: an idle one, or a new one, which costs the
/// clearing of all `__shared__` memory. The threads are never joined, because one that waits forever would keep the
/// process from ending. Thread-safe. Throws std::system_error if no thread can be started.
void run_on_thread(std::function<void()> work);

}  // namespace emulated_cuda
