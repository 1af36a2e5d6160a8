#pragma once

namespace troupe {

/// Sets whether plans and predictors that this process makes from now on compute all convolutions on CPUs directly.
/// Before the first call, convolutions with 3x3 filters of many shapes are computed by Winograd's algorithm, with fewer
/// multiplications. Its rounding errors are 2 to 6 times as large in the root mean square; those of a pixel depend on
/// the largest number in the 6x6 pixels around it, and an infinity or NaN there makes it NaN. All processes of a job
/// must set the same. Thread-safe.
void set_exact_convolutions(bool exact);
bool exact_convolutions();

}  // namespace troupe
