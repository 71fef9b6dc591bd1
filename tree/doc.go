// Package tree has functions of functions over structs: gradients, batches, loops and compiled functions of what a program keeps its tensors in.
//
// A tree is a tensor, or a struct, pointer, slice, array or map with string keys of trees. What else is in a tree is static: it stays as it is. A nil
// tensor is a tree without tensors. Only exported fields may hold tensors. Results are new trees; the arguments are not changed.
//
//	type Params struct{ W, B *polygrad.Tensor }
//	type Data struct{ X, Y *polygrad.Tensor }
//	loss := func(p Params, d Data) (*polygrad.Tensor, error) {
//		return d.X.MatMul(p.W).Add(p.B).Sub(d.Y).Square().Mean(), nil
//	}
//	grads, err := tree.Grad(loss)(params, data) // grads is a Params
//
// Functions have two arguments: params, by which derivatives are taken, and data. A function that needs one only takes None as the other. The
// functions of the package call a function on placeholders, as those of package polygrad do (see polygrad.Function), and nest with them.
//
// An error names the function, the argument and the field: tree.Grad: params.Layers[0].Steps is int32, expected a floating type.
package tree

// None is an argument of a function that needs none.
type None = struct{}
