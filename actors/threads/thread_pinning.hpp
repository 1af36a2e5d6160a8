#pragma once

namespace troupe {

/// Number of threads of this process that can run at once: the cores of its affinity mask, or fewer whole cores if its
/// control groups have a CPU quota. Read once.
int usable_cores();

/// Binds the calling thread to core i, modulo their number, of the cores that the process may use. Does nothing if the
/// system refuses, or if a CPU quota grants less time than the process has cores.
void pin_this_thread(int i);
/// Lets the calling thread run on any core that the process may use. A new thread has the cores of the thread that made
/// it.
void unpin_this_thread();

}  // namespace troupe
