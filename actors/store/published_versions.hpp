#pragma once

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "troupe/actors/plan/parameter_ref.hpp"
#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// The value of a copy of a parameter at a step boundary. The mutex of the store guards it; the elements do not change
/// while the value is read.
struct PublishedValue {
  Tensor tensor;
  std::chrono::steady_clock::time_point boundary;
  int accesses = 0;  // number of ParameterReaders that read the value now
};

/// The values of a copy that a store keeps: the newest one, and the memory for the next one, which late readers of the
/// value before may still read. Both may be null.
struct PublishedCopy {
  std::shared_ptr<PublishedValue> newest, spare;
  bool is_current = false;  // readers may take `newest`
};

/// The copies that a ParameterReader reads. A store publishes them while the reader lives.
struct ReadCopies {
  std::vector<ParameterRef> refs;
  std::set<std::string> names;  // the names in `refs`
};

}  // namespace troupe
