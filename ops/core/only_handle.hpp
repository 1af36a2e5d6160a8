#pragma once

#include <memory>

namespace troupe {

/// True if no other handle of the object exists, so that the caller may write to the object. All accesses by earlier
/// holders happen before the return, which use_count() alone does not ensure. The caller must not copy the handle
/// meanwhile.
template <class T>
bool is_only_handle(const std::shared_ptr<T>& handle) {
  if (handle.use_count() != 1) return false;
  // Copying and dropping a handle orders the accesses. ThreadSanitizer understands this, but not a fence.
  const auto probe = handle;  // NOLINT(performance-unnecessary-copy-initialization)
  return true;
}

}  // namespace troupe
