#include "troupe/actors/system/device_trace.hpp"

#include <utility>

#include "troupe/ops/core/backend.hpp"

namespace troupe {

DeviceTrace::DeviceTrace(std::shared_ptr<Trace> trace, Stream& stream)
    : trace_(std::move(trace)), stream_(stream), is_device_(!backend_of(stream.device()).host_accessible()) {
  if (!is_device_) return;
  first_ = stream_.record_with_time();
  first_.wait();
  first_time_ = Trace::Clock::now();
}

void DeviceTrace::begin() {
  if (is_device_) begin_on_device_ = stream_.record_with_time();
  begin_ = Trace::Clock::now();
}

void DeviceTrace::end(Trace::Event work) {
  work.begin = begin_;
  work.end = Trace::Clock::now();
  if (is_device_) {
    end_on_device(work);
    work.device = "host of " + work.device;
  }
  trace_->add(std::move(work));
}

void DeviceTrace::end_on_device(Trace::Event work) {
  const auto end = stream_.record_with_time();
  if (end.state() == nullptr) return;
  end.notify([trace = trace_, first = first_, since = first_time_, begin = begin_on_device_, end,
              work = std::move(work)]() mutable {
    const auto begun = begin.state()->time_since(*first.state()), ended = end.state()->time_since(*first.state());
    if (!begun || !ended) return;
    work.begin = since + *begun;
    work.end = since + *ended;
    trace->add(std::move(work));
  });
}

}  // namespace troupe
