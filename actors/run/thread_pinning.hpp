#pragma once

namespace troupe {

/// Number of cores that this process may use.
int usable_cores();

/// Binds the calling thread to the i-th of the cores that the process may use, counted round and round. Does nothing
/// where the system refuses.
void pin_this_thread(int i);
/// Lets the calling thread run on any core that the process may use; a thread begins on those of the one that made it.
void unpin_this_thread();

}  // namespace troupe
