// Package tensor is the operations that users call, composed of the few primitives of the compiler.
//
// A tensor is a *uop.UOp with a shape; functions build nodes and compute nothing.
// Shapes and types are checked here, when the node is built: an error names the
// function, the argument, what was given and what was expected.
//
// The compositions, type promotion and broadcasting are tinygrad's (commit
// c2be31e75b366638965337b96f2c66c2ba8c4068), so the graphs equal the graphs that
// tinygrad builds, node for node. Functions missing in tinygrad (erfc, erfinv, lgamma, …) or with large errors there (asin,
// sinh, …) are defined here, with their sources.
//
// Graphs that are composed as tinygrad composes them (uop.Graph.IsAsTinygrad) consist of ADD MUL IDIV MOD MAX CMPLT CMPNE XOR OR AND
// SHL SHR RECIPROCAL EXP2 LOG2 SIN SQRT TRUNC POW WHERE THREEFRY CAST BITCAST, RESHAPE PERMUTE EXPAND PAD SHRINK FLIP,
// REDUCE_AXIS, CONTIGUOUS, CONTIGUOUS_BACKWARD, DETACH, ASSIGN, CONST, BUFFER and BIND. Others have operations of
// our own, too: SUB, MULACC, FLOOR, CEIL, ROUND, CUSTOM_GRADIENT, PREFIX_AXIS, SCATTER, FETCH, LOOPS, REPEAT, RESULT and COMPLEX.
package tensor
