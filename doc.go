// Package polygrad is a tensor library with gradients and a compiler: operations build a lazy graph, which is compiled into fused
// kernels for the machine it runs on.
//
// # Operations
//
// Operations are methods of Tensor. They check shapes and types and return at once. Realize, Values, Item and Backward compute what is
// needed, in as few kernels as possible:
//
//	x := polygrad.From([]float32{1, 2, 3, 4}, 2, 2)
//	y := x.MatMul(x.T()).Add(3).Sqrt().Sum(polygrad.WithAxis(1))
//	values, err := polygrad.Values[float32](y)
//
// Optional arguments are Options, made by the With functions; the documentation of a method lists its options with their defaults.
// Shapes broadcast and types are promoted by NumPy's rules. A Go number takes the type of the tensor it is combined with.
//
// # Errors
//
// An operation that fails returns a tensor with an error, and so does every operation on that tensor. Check the error once, at the end
// of a chain: Err of the tensor, or the error of Realize, Values or Item.
//
// # Views and writes
//
// Reshape, Permute, Index with integers and slices, and other movement operations return views: a write to the tensor or to a view is
// visible in both. Assign and Set write. A tensor that was built from the written one before has the old elements, even if it is realized
// later.
//
// # Training
//
// SetRequiresGrad(true) makes a tensor a parameter. Backward of a loss adds the gradient to its Grad, and an Optimizer updates the parameter.
// Compile traces a whole training step and compiles it into one program.
//
// # Devices
//
// With cgo, on x86-64, kernels are machine code of the processor; otherwise they are WebAssembly. See NewContext.
package polygrad

//go:generate go run ./core/tensor/ops/gen
