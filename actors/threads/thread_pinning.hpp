#pragma once

namespace troupe {

/// Number of threads of this process that can run at once: the cores of its affinity mask, or fewer whole cores if its
/// control groups have a CPU quota. Determined once, by the first call.
int usable_cores();

/// Binds the calling thread to core number i, modulo their number, of the cores that the process may use. Does nothing
/// if the system refuses, or if a CPU quota grants less time than these cores have.
void pin_this_thread(int i);
/// Lets the calling thread run on any core that the process may use. Call it on a new thread, which inherits the
/// binding of the thread that has made it.
void unpin_this_thread();

}  // namespace troupe
