#include "troupe/strategies/training/progress_bar.hpp"

#include <algorithm>
#include <cstdio>

namespace troupe {

namespace {

constexpr auto kTerminalInterval = std::chrono::milliseconds(100);
constexpr auto kPlainInterval = std::chrono::seconds(10);
constexpr std::int64_t kWidth = 30;

std::string format(const char* format, auto... values) {
  char text[160];
  std::snprintf(text, sizeof(text), format, values...);
  return text;
}

/// Returns the loss and all metrics that are no tables, as a text such as `loss 0.2586  accuracy 0.9046`.
std::string values_of(const Metrics& metrics) {
  auto text = format("loss %.4f", metrics.loss);
  for (const auto& entry : metrics.values.entries()) {
    if (!entry.table.numbers.empty()) continue;
    text += "  " + entry.name + format(" %.4f", MetricValues::value_of(entry));
  }
  return text;
}

}  // namespace

ProgressBar::ProgressBar(std::ostream& out, bool terminal, std::int64_t epochs, std::int64_t steps_per_epoch)
    : out_(out),
      terminal_(terminal),
      epochs_(epochs),
      steps_per_epoch_(std::max<std::int64_t>(1, steps_per_epoch)),
      last_drawn_(std::chrono::steady_clock::now()) {}

void ProgressBar::step(const StepMetrics& step) {
  sum_.add(step);
  const auto now = std::chrono::steady_clock::now();
  if (now - last_drawn_ < (terminal_ ? std::chrono::milliseconds(kTerminalInterval) : kPlainInterval)) return;
  last_drawn_ = now;
  draw();
}

void ProgressBar::draw() {
  const auto metrics = sum_.result();
  const auto done = static_cast<std::size_t>(std::min(kWidth, metrics.steps * kWidth / steps_per_epoch_));
  const auto bar = std::string(done, '#') + std::string(static_cast<std::size_t>(kWidth) - done, '.');
  const auto line =
      format("epoch %lld/%lld [%s] step %lld/%lld  ", static_cast<long long>(epoch_), static_cast<long long>(epochs_),
             bar.c_str(), static_cast<long long>(metrics.steps), static_cast<long long>(steps_per_epoch_)) +
      values_of(metrics);
  if (terminal_)
    out_ << "\r" << line << std::flush;
  else
    out_ << line << std::endl;
}

void ProgressBar::finish_epoch(const Metrics& metrics, double seconds) {
  const auto line = format("epoch %lld/%lld  ", static_cast<long long>(epoch_), static_cast<long long>(epochs_)) +
                    values_of(metrics) +
                    format("  %.0f samples/s", seconds > 0.0 ? static_cast<double>(metrics.rows) / seconds : 0.0);
  // Spaces overwrite the rest of the bar, which may be longer than the line that follows.
  if (terminal_) out_ << "\r" << std::string(100, ' ') << "\r";
  out_ << line << std::endl;
  ++epoch_;
  sum_ = {};
}

}  // namespace troupe
