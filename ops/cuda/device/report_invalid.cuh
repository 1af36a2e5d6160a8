#pragma once

#include "troupe/ops/cuda/device/invalid_value.hpp"

namespace troupe::cuda {

/// Reports invalid values from the kernels of one launch. Copied to the device as a kernel's argument.
struct InvalidReport {
  InvalidValue* note = nullptr;
  const char* op = nullptr;  // a host address, which the device only copies

  __device__ void label(long long row, long long value, long long classes) const {
    report(InvalidValue::Kind::label, row, value, classes);
  }
  __device__ void index(long long place, long long value, long long rows) const {
    report(InvalidValue::Kind::index, place, value, rows);
  }
  __device__ void not_finite(float value) const { report(InvalidValue::Kind::not_finite, 0, 0, 0, value); }
  /// Reports a batch info with `count` rows from row `first` on for a tensor of `bound` rows.
  __device__ void rows(long long first, long long count, long long bound) const {
    report(InvalidValue::Kind::rows, first, count, bound);
  }
  /// Reports rows of the batch that are not among the `bound` rows of a tensor.
  __device__ void batch_rows(long long first, long long count, long long bound) const {
    report(InvalidValue::Kind::batch_rows, first, count, bound);
  }

 private:
  __device__ void report(InvalidValue::Kind kind, long long place, long long value, long long bound,
                         float number = 0.0F) const {
    if (atomicCAS(&note->taken, 0, 1) != 0) return;
    note->op = op;
    note->kind = kind;
    note->place = place;
    note->value = value;
    note->bound = bound;
    note->number = number;
    __threadfence_system();
    atomicExch(&note->complete, 1);
  }
};

}  // namespace troupe::cuda
