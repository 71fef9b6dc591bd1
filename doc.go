// Package polygrad computes with tensors: lazily, with gradients, in kernels that it compiles for the machine it runs on.
//
// Operations are methods of Tensor. They return at once; Realize, Values, Item and Backward compute what is needed, in as few kernels as
// possible:
//
//	x := polygrad.From([]float32{1, 2, 3, 4}, 2, 2)
//	y := x.MatMul(x.T()).Add(1).Sqrt().Sum(polygrad.WithAxis(1))
//	values, err := polygrad.Values[float32](y)
//
// Arguments that an operation can do without are options: the With functions. A mistake in a chain of operations is told once, by the
// error at its end.
//
// Tensors can be written: Assign and Set change one and everything that is a view of it (Reshape, Permute, Index with slices, …). What
// was computed from it before keeps its values.
//
// Parameters are tensors with SetRequiresGrad(true). Backward of a loss computes their Grad, and an Optimizer changes them. Compile makes
// a whole step of training one program.
//
// With cgo, kernels are machine code of the processor; without it, or on another processor, they are WebAssembly.
package polygrad

//go:generate go run ./core/tensor/ops/gen
