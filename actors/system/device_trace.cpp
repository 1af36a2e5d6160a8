#include "troupe/actors/system/device_trace.hpp"

#include <utility>

namespace troupe {

DeviceTrace::DeviceTrace(std::shared_ptr<Trace> trace, Stream& stream)
    : trace_(std::move(trace)), stream_(stream), first_(stream.record_with_time()) {
  first_.wait();
  first_time_ = Trace::Clock::now();
}

void DeviceTrace::begin() {
  begin_ = stream_.record_with_time();
}

void DeviceTrace::end(Trace::Event work) {
  const auto end = stream_.record_with_time();
  if (end.state() == nullptr) return;
  end.notify(
      [trace = trace_, first = first_, since = first_time_, begin = begin_, end, work = std::move(work)]() mutable {
        const auto begun = begin.state()->time_since(*first.state()), ended = end.state()->time_since(*first.state());
        if (!begun || !ended) return;
        work.begin = since + *begun;
        work.end = since + *ended;
        trace->add(std::move(work));
      });
}

}  // namespace troupe
