#pragma once

namespace troupe {

/// Number of threads of this process that can run at once: the cores of its affinity mask, or fewer whole cores if its
/// control groups have a CPU quota. Read once.
int usable_cores();

/// Binds the calling thread to the i-th of the cores that the process may use, counted round and round. Does nothing
/// where the system refuses, or where a CPU quota grants less time than the process has cores.
void pin_this_thread(int i);
/// Lets the calling thread run on any core that the process may use; a thread begins on those of the one that made it.
void unpin_this_thread();

}  // namespace troupe
