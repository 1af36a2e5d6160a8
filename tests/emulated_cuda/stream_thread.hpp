#pragma once

#include <functional>

namespace emulated_cuda {

/// Runs the work on a thread that nothing else runs on until it is done: on one that has done its work, since
/// thread-local
/// `__shared__` memory makes a new one costly, or else on a new one. The threads are never joined: one that waits for
/// what does not come would keep the process from its end. May be called from any thread; an std::system_error if there
/// can be no other thread.
void run_on_thread(std::function<void()> work);

}  // namespace emulated_cuda
