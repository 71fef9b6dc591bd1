package lower

import "polygrad/core/uop"

// WebGPU is the target of kernels for core/nest that run on GPUs: Native without the types of 64 bits. Pairs of words stand for integers;
// float64 is refused.
func WebGPU() *Target {
	t := Native()
	t.Name = "webgpu"
	t.Missing = []*uop.DType{uop.Float64, uop.Int64, uop.Uint64}
	return t
}
