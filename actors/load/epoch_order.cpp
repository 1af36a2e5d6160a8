#include "troupe/actors/load/epoch_order.hpp"

#include <system_error>

#include "troupe/actors/threads/thread_pinning.hpp"
#include "troupe/ops/core/signals_blocked.hpp"

namespace troupe {

const SampleOrder& EpochOrder::of(std::int64_t epoch) {
  const bool is_drawn = epoch_ && (epoch == *epoch_ || !data_.is_shuffled());
  if (is_drawn) return order_;
  order_ = epoch_ && epoch == *epoch_ + 1 && next_.valid() ? next_.get() : data_.sample_order(seed_, epoch);
  epoch_ = epoch;
  draw_ahead(epoch + 1);
  return order_;
}

void EpochOrder::draw_ahead(std::int64_t epoch) {
  if (!data_.draws_order() || data_.rows() > kMostDrawnAhead) return;
  try {
    const SignalsBlocked blocked;
    next_ = std::async(std::launch::async, [this, epoch] {
      // A new thread inherits the core binding of the thread that made it, and would compete with that thread for the
      // core.
      unpin_this_thread();
      return data_.sample_order(seed_, epoch);
    });
  } catch (const std::system_error&) {
    // If no thread can be made, of() draws the order when it is needed.
    next_ = {};
  }
}

}  // namespace troupe
