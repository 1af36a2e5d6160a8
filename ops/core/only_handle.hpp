#pragma once

#include <memory>

namespace troupe {

/// Whether no other handle of the object exists, so that the caller may write to it. What other holders did to it
/// before they let go happens before the return: use_count() alone orders nothing. The caller makes no handles
/// meanwhile.
template <class T>
bool is_only_handle(const std::shared_ptr<T>& handle) {
  if (handle.use_count() != 1) return false;
  // One handle more and less: unlike a fence, ThreadSanitizer understands it.
  const auto probe = handle;  // NOLINT(performance-unnecessary-copy-initialization)
  return true;
}

}  // namespace troupe
