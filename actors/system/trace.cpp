#include "troupe/actors/system/trace.hpp"

#include <fstream>
#include <locale>

#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

double microseconds(Trace::Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

}  // namespace

void Trace::add(Event event) {
  std::lock_guard lock(mutex_);
  events_.push_back(std::move(event));
}

std::vector<Trace::Event> Trace::events() const {
  std::lock_guard lock(mutex_);
  return events_;
}

void Trace::write(const std::filesystem::path& file) const {
  std::ofstream out(file);
  out.imbue(std::locale::classic());  // JSON has a decimal point
  out.precision(3);
  out << std::fixed << "[";
  const char* separator = "\n";
  for (const auto& event : events()) {
    out << separator << R"({"name": ")" << event.task << R"(", "ph": "X", "pid": 0, "tid": ")" << event.device
        << R"(", "ts": )" << microseconds(event.begin.time_since_epoch()) << R"(, "dur": )"
        << microseconds(event.end - event.begin) << R"(, "args": {"step": )" << event.step << R"(, "replica": )"
        << event.replica << "}}";
    separator = ",\n";
  }
  out << "\n]\n";
  if (!out.flush()) throw Error("trace", "'" + file.string() + "' cannot be written");
}

}  // namespace troupe
