package numpy

import "polygrad"

// call returns the results of a function, or its error as a tensor.
func call(name string, operands []any, opts ...polygrad.Option) []*polygrad.Tensor {
	results, _ := polygrad.Call(name, operands, opts...)
	return results
}

// each are the operands of a function of several tensors.
func each(xs []*polygrad.Tensor) []any {
	out := make([]any, len(xs))
	for i, x := range xs {
		out[i] = x
	}
	return out
}
