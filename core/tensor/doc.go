// Package tensor is what users call: every operation on tensors, composed of the
// few primitives that the compiler knows.
//
// A tensor is a *uop.UOp with a shape; functions build nodes and compute nothing.
// Shapes and types are checked here, when the node is built: an error names the
// function, the argument, what was given and what was expected.
//
// The compositions, type promotion and broadcasting are tinygrad's (commit
// c2be31e75b366638965337b96f2c66c2ba8c4068), so the graphs equal the graphs that
// tinygrad builds, node for node. What tinygrad does not have (erfc, erfinv,
// lgamma, …) or has only with large errors (asin, sinh, …) is defined here; the
// formulas say where they come from.
//
// Only these operations reach a graph: ADD MUL IDIV MOD MAX CMPLT CMPNE XOR OR AND
// SHL SHR RECIPROCAL EXP2 LOG2 SIN SQRT TRUNC POW WHERE THREEFRY CAST BITCAST,
// RESHAPE PERMUTE EXPAND PAD SHRINK FLIP, REDUCE_AXIS, CONTIGUOUS,
// CONTIGUOUS_BACKWARD, DETACH, ASSIGN, CONST, BUFFER and BIND.
package tensor
