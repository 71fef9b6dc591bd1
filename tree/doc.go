// Package tree transforms functions of structs: it has the gradients, batching, loops and compilation of package polygrad for functions whose
// arguments and results are the structs in which a program keeps its tensors.
//
// A tree is a tensor, or a struct, pointer, slice, array or map with string keys of trees. All other values in a tree are static: they are kept as
// they are. A nil tensor is a tree without tensors. Only exported fields may hold tensors. Results are new trees; the arguments are not changed.
//
//	type Params struct{ W, B *polygrad.Tensor }
//	type Data struct{ X, Y *polygrad.Tensor }
//	loss := func(p Params, d Data) (*polygrad.Tensor, error) {
//		return d.X.MatMul(p.W).Add(p.B).Sub(d.Y).Square().Mean(), nil
//	}
//	grads, err := tree.Grad(loss)(params, data) // grads is a Params
//
// Functions have two arguments: params, with respect to which derivatives are taken, and data. A function that needs only one takes None as the
// other. The functions of the package call a function on placeholders, as those of package polygrad do (see polygrad.Function), and nest with them.
//
// An error names the function, the argument and the field: tree.Grad: params.Layers[0].Steps is int32, expected a floating type.
package tree

// None is the type of an argument that a function does not need.
type None = struct{}
