#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

struct LstmOutputs {
  Value hidden;       ///< float32 [B, T, H], the hidden states after every time step
  Value last_hidden;  ///< float32 [B, H], the hidden state after the last time step
  Value last_cell;    ///< float32 [B, H], the cell state after the last time step
};

/// A long short-term memory over a whole sequence of T time steps in one op: Hochreiter and Schmidhuber (1997), with
/// the forget gate of Gers and others (2000). All values must be float32. `gates` [B, T, 4 H] must hold the inputs
/// times their weights plus the bias, for the input, forget, cell and output gate in this order. `weights` [H, 4 H]
/// multiplies the hidden state, which has H elements. `hidden` and `cell` [B, H] are the hidden state and the cell
/// state before the first time step.
LstmOutputs lstm(Value gates, Value weights, Value hidden, Value cell);

}  // namespace troupe
