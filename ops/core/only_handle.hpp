#pragma once

#include <memory>

namespace troupe {

/// True if no other handle of the object exists, so that the caller may write to the object. If so, all accesses
/// through handles that other threads have dropped happen before the return, which use_count() alone does not ensure.
/// No other thread may copy `handle` during the call.
template <class T>
bool is_only_handle(const std::shared_ptr<T>& handle) {
  if (handle.use_count() != 1) return false;
  // Copying and dropping the handle updates the reference count atomically, which orders the accesses through earlier
  // handles before the return. A fence would, too, but ThreadSanitizer does not understand fences.
  const auto probe = handle;  // NOLINT(performance-unnecessary-copy-initialization)
  return true;
}

}  // namespace troupe
