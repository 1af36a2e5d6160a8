#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

// Element-wise functions of x, which must be float32 or a 16-bit float. Outside the domain of a function the result is
// that of the C++ standard library: a NaN or an infinity.

Value exp(Value x);
/// The natural logarithm.
Value log(Value x);
Value sqrt(Value x);
/// 1 / sqrt(x).
Value rsqrt(Value x);
/// |x|. The gradient at 0 is 0.
Value abs(Value x);
/// -x.
Value neg(Value x);
/// x to the power `exponent`.
Value pow(Value x, double exponent);
/// The number in [least, most] that is nearest to x. The gradient is passed on where x lies in [least, most], and is 0
/// elsewhere. Throws Error if least > most.
Value clip(Value x, double least, double most);

}  // namespace troupe
