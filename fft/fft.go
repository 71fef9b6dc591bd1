package fft

import "polygrad"

// call returns the results of a function, or its error as a tensor.
func call(name string, operands []any, opts ...polygrad.Option) []*polygrad.Tensor {
	results, _ := polygrad.Call(name, operands, opts...)
	return results
}
