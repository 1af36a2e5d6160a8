#pragma once

#include <cstdint>
#include <limits>

namespace troupe {

/// Detects that a number that should fall, such as the validation loss, has not fallen for a while. Report the number
/// in FitOptions::on_epoch or on_pause, and return reached() from stop_requested.
class EarlyStopping {
 public:
  /// reached() becomes true after `patience` numbers in a row none of which is below the best by more than
  /// `least_gain`. A patience below 1 counts as 1. A NaN is never below the best.
  explicit EarlyStopping(std::int64_t patience, double least_gain = 0.0)
      : patience_(patience > 1 ? patience : 1), least_gain_(least_gain) {}

  /// Returns true if the number is the new best.
  bool report(double number) {
    const bool better = number < best_ - least_gain_;
    without_gain_ = better ? 0 : without_gain_ + 1;
    if (better) best_ = number;
    return better;
  }
  bool reached() const { return without_gain_ >= patience_; }
  double best() const { return best_; }

 private:
  std::int64_t patience_;
  double least_gain_;
  double best_ = std::numeric_limits<double>::infinity();
  std::int64_t without_gain_ = 0;
};

}  // namespace troupe
