#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

struct LstmOutputs {
  Value hidden;       ///< [B, T, H], the hidden state after every time
  Value last_hidden;  ///< [B, H]
  Value last_cell;    ///< [B, H]
};

/// A long short-term memory over a whole sequence in one op: Hochreiter and Schmidhuber (1997), with the forget gate of
/// Gers and others (2000). `gates` [B, T, 4 H] holds the inputs times their weights plus the bias, in the order input,
/// forget, cell, output gate. `weights` [H, 4 H] multiplies the hidden state. `hidden` and `cell` [B, H] are the states
/// before the first time.
LstmOutputs lstm(Value gates, Value weights, Value hidden, Value cell);

}  // namespace troupe
