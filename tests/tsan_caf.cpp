// Shows ThreadSanitizer how CAF hands messages from thread to thread. Debian's libcaf_core is not instrumented: its
// atomics are invisible, so that everything a message carries looks like a race, and suppressions would hide the real
// ones with it. The functions here take the place of the library's: they tell the sanitizer what is ordered, and go on
// to the real ones. Part of the test programs in a build with ThreadSanitizer only.
#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>

#include <caf/actor_control_block.hpp>
#include <caf/blocking_actor.hpp>
#include <caf/config.hpp>
#include <caf/ref_counted.hpp>
#include <caf/scheduled_actor.hpp>

#if defined(CAF_VERSION_MAJOR) || CAF_VERSION >= 1800
#error "The functions below are those of CAF 0.17: look at them again, or build CAF itself with ThreadSanitizer"
#endif

namespace {

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

namespace caf {

// A message is read, or freed unread, after it was sent.
void scheduled_actor::enqueue(mailbox_element_ptr element, execution_unit* host) {
  static const auto next = real<void(scheduled_actor*, mailbox_element_ptr, execution_unit*)>(
      "_ZN3caf15scheduled_actor7enqueueESt10unique_ptrINS_15mailbox_elementENS_6detail8disposerEEPNS_14execution_"
      "unitE");
  __tsan_release(element.get());
  next(this, std::move(element), host);
}

void blocking_actor::enqueue(mailbox_element_ptr element, execution_unit* host) {
  static const auto next = real<void(blocking_actor*, mailbox_element_ptr, execution_unit*)>(
      "_ZN3caf14blocking_actor7enqueueESt10unique_ptrINS_15mailbox_elementENS_6detail8disposerEEPNS_14execution_unitE");
  __tsan_release(element.get());
  next(this, std::move(element), host);
}

scheduled_actor::activation_result scheduled_actor::reactivate(mailbox_element& element) {
  static const auto next = real<activation_result(scheduled_actor*, mailbox_element&)>(
      "_ZN3caf15scheduled_actor10reactivateERNS_15mailbox_elementE");
  __tsan_acquire(&element);
  const auto result = next(this, element);
  __tsan_release(this);
  return result;
}

intrusive::task_result blocking_actor::mailbox_visitor::operator()(mailbox_element& element) {
  static const auto next = real<intrusive::task_result(mailbox_visitor*, mailbox_element&)>(
      "_ZN3caf14blocking_actor15mailbox_visitorclERNS_15mailbox_elementE");
  __tsan_acquire(&element);
  return next(this, element);
}

void memory_managed::request_deletion(bool) const noexcept {
  __tsan_acquire(const_cast<memory_managed*>(this));
  delete this;
}

// The turns of one actor follow its making and each other, on any thread. A turn hands over after its start and
// after each message, not when resume returns: the next one may run on another thread by then.
void scheduled_actor::launch(execution_unit* host, bool lazy, bool hide) {
  static const auto next = real<void(scheduled_actor*, execution_unit*, bool, bool)>(
      "_ZN3caf15scheduled_actor6launchEPNS_14execution_unitEbb");
  __tsan_release(this);
  next(this, host, lazy, hide);
}

bool scheduled_actor::activate(execution_unit* host) {
  static const auto next =
      real<bool(scheduled_actor*, execution_unit*)>("_ZN3caf15scheduled_actor8activateEPNS_14execution_unitE");
  __tsan_acquire(this);
  const auto result = next(this, host);
  __tsan_release(this);
  return result;
}

// As in the library; here the sanitizer sees the counters of references.
void ref_counted::deref() const noexcept {
  if (unique() || rc_.fetch_sub(1, std::memory_order_acq_rel) == 1) request_deletion(true);
}

void intrusive_ptr_release_weak(actor_control_block* block) {
  if (block->weak_refs == 1 || block->weak_refs.fetch_sub(1, std::memory_order_acq_rel) == 1) block->block_dtor(block);
}

void intrusive_ptr_release(actor_control_block* block) {
  if (block->strong_refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  block->data_dtor(block->get());
  intrusive_ptr_release_weak(block);
}

}  // namespace caf
