// Package bench holds the graphs that the measurements in Go compile, the same ones
// as workloads.py has for those in Python.
package bench

import (
	"math"
	"unsafe"

	"polygrad/core/gradient"
	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/transform"
	"polygrad/core/uop"
	"polygrad/exec"
)

// Workload is a graph to compile.
type Workload struct {
	Name  string
	Build func(*Graph) []*uop.UOp
}

// Workloads are what is measured, from small to large.
var Workloads = []Workload{{"vecadd", vecadd}, {"softmax", softmax}, {"matmul", matmul}, {"mlp", mlp}, {"gpt", gpt}, {"remat", remat}, {"fft", fft}, {"det", det}}

// Graph builds requests on buffers.
type Graph struct {
	*uop.Graph
	buffers []*uop.UOp
}

// NewGraph makes an empty graph.
func NewGraph() *Graph { return &Graph{Graph: symbolic.NewGraph()} }

// Memory is the buffers with memory for each.
func (g *Graph) Memory() []exec.Binding {
	binds := make([]exec.Binding, len(g.buffers))
	for i, b := range g.buffers {
		mem := make([]uint64, int64(b.Arg.(uop.Num))*int64(b.DType.Itemsize())/8+1)
		binds[i] = exec.Binding{Buffer: b, Ptr: unsafe.Pointer(&mem[0])}
	}
	return binds
}

// Sink is the request to compute outs into buffers.
func (g *Graph) Sink(outs []*uop.UOp) *uop.UOp {
	var stores []*uop.UOp
	for _, o := range outs {
		dims, ok := o.Shape().Ints()
		if !ok {
			panic("bench: an output has no fixed shape")
		}
		stores = append(stores, g.buffer(o.DType, dims...).Base().Store(o))
	}
	return g.Graph.Sink(nil, stores...)
}

// must is for graphs that are known to be right.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func (g *Graph) buffer(dt *uop.DType, dims ...int64) *uop.UOp {
	s := uop.ShapeOf(dims...)
	n := s.Numel().N
	b := g.NewBuffer("CPU", n, dt)
	g.buffers = append(g.buffers, b)
	return must(tensor.Reshape(b, s))
}

func (g *Graph) float(dims ...int64) *uop.UOp { return g.buffer(uop.Float32, dims...) }

func times(x *uop.UOp, f float64) *uop.UOp {
	return must(tensor.Mul(x, must(tensor.Scalar(x, uop.Float(f)))))
}

func vecadd(g *Graph) []*uop.UOp {
	return []*uop.UOp{must(tensor.Add(g.float(10), g.float(10)))}
}

func softmax(g *Graph) []*uop.UOp {
	return []*uop.UOp{must(tensor.Softmax(g.float(32, 128), -1))}
}

func matmul(g *Graph) []*uop.UOp {
	return []*uop.UOp{must(tensor.MatMul(g.float(256, 256), g.float(256, 256)))}
}

// det is a batch of determinants: loops over matrices that become few kernels.
func det(g *Graph) []*uop.UOp { return []*uop.UOp{must(tensor.Det(g.float(512, 16, 16)))} }

// fft is the Fourier transforms of rows.
func fft(g *Graph) []*uop.UOp {
	re, im := must(tensor.RealFFT(g.float(7, 2000), 0, 1, tensor.NormBackward)).Planes()
	return []*uop.UOp{re, im}
}

func lossAndGradients(scores, y *uop.UOp, params []*uop.UOp) []*uop.UOp {
	loss := must(tensor.CrossEntropy(scores, y, -1, tensor.ReduceMean, 0))
	return append([]*uop.UOp{loss}, must(gradient.Of(loss, params, nil))...)
}

// mlp is the loss and the gradients of three layers.
func mlp(g *Graph) []*uop.UOp {
	const batch = 128
	sizes := []int64{784, 512, 256, 10}
	h := g.float(batch, sizes[0])
	var params []*uop.UOp
	for i, out := range sizes[1:] {
		w, b := g.float(out, sizes[i]), g.float(out)
		params = append(params, w, b)
		h = must(tensor.Linear(h, w, b))
		if i < len(sizes)-2 {
			h = must(tensor.Relu(h))
		}
	}
	return lossAndGradients(h, g.buffer(uop.Int32, batch), params)
}

// gpt is the loss and the gradients of a transformer of two layers.
func gpt(g *Graph) []*uop.UOp {
	const vocabulary, length, dim, heads, size = 512, 128, 256, 4, 64
	var params []*uop.UOp
	param := func(dims ...int64) *uop.UOp {
		p := g.float(dims...)
		params = append(params, p)
		return p
	}
	linear := func(x *uop.UOp, out, in int64) *uop.UOp { return must(tensor.Linear(x, param(out, in), nil)) }
	norm := func(x *uop.UOp) *uop.UOp {
		x = must(tensor.LayerNorm(x, []int{-1}, 1e-5))
		return must(tensor.Add(must(tensor.Mul(x, param(dim))), param(dim)))
	}
	split := func(x *uop.UOp) *uop.UOp {
		return must(tensor.Transpose(must(tensor.Reshape(x, uop.ShapeOf(1, length, heads, size))), 1, 2))
	}
	block := func(h *uop.UOp) *uop.UOp {
		qkv := must(tensor.Split(linear(norm(h), 3*dim, dim), []int64{dim, dim, dim}, 2))
		q, k, v := split(qkv[0]), split(qkv[1]), split(qkv[2])
		scores := times(must(tensor.MatMul(q, must(tensor.Transpose(k, -2, -1)))), 1/math.Sqrt(size))
		mask := must(tensor.Full(g.Graph, uop.ShapeOf(1, 1, length, length), uop.Float(math.Inf(-1)), uop.Float32))
		scores = must(tensor.Add(scores, must(tensor.Triu(mask, 1))))
		mixed := must(tensor.Transpose(must(tensor.MatMul(must(tensor.Softmax(scores, -1)), v)), 1, 2))
		h = must(tensor.Add(h, linear(must(tensor.Reshape(mixed, uop.ShapeOf(1, length, dim))), dim, dim)))
		return must(tensor.Add(h, linear(must(tensor.Gelu(linear(norm(h), 4*dim, dim))), dim, 4*dim)))
	}
	x, y := g.buffer(uop.Int32, 1, length), g.buffer(uop.Int32, 1, length)
	place := must(tensor.Arange(g.Graph, uop.Int(0), uop.Int(length), uop.Int(1), uop.Int32))
	place = must(tensor.Reshape(place, uop.ShapeOf(1, length)))
	h := must(tensor.Add(must(tensor.Embedding(param(vocabulary, dim), x)), must(tensor.Embedding(param(length, dim), place))))
	h = norm(block(block(h)))
	return lossAndGradients(linear(h, vocabulary, dim), y, params)
}

// remat is the gradients of four transformer layers, each of which computes its values again in the backward pass.
func remat(g *Graph) []*uop.UOp {
	const batch, length, dim, heads, size = 8, 128, 128, 4, 32
	mask := must(tensor.Triu(must(tensor.Full(g.Graph, uop.ShapeOf(length, length), uop.Float(-1e9), uop.Float32)), 1))
	block := func(x, qkv, o, up, down *uop.UOp) *uop.UOp {
		z := must(tensor.Reshape(must(tensor.MatMul(x, qkv)), uop.ShapeOf(batch, length, 3, heads, size)))
		var parts [3]*uop.UOp
		for i, part := range must(tensor.Split(z, []int64{1, 1, 1}, 2)) {
			parts[i] = must(tensor.Permute(must(tensor.Reshape(part, uop.ShapeOf(batch, length, heads, size))), 0, 2, 1, 3))
		}
		scores := times(must(tensor.MatMul(parts[0], must(tensor.Transpose(parts[1], -2, -1)))), 1/math.Sqrt(size))
		weights := must(tensor.Softmax(must(tensor.Add(scores, mask)), -1))
		mixed := must(tensor.Reshape(must(tensor.Transpose(must(tensor.MatMul(weights, parts[2])), 1, 2)), uop.ShapeOf(batch, length, dim)))
		x = must(tensor.Add(x, must(tensor.MatMul(mixed, o))))
		return must(tensor.Add(x, must(tensor.MatMul(must(tensor.Tanh(must(tensor.MatMul(x, up)))), down))))
	}
	x := g.float(batch, length, dim)
	var params []*uop.UOp
	for range 4 {
		args := []*uop.UOp{x, g.float(dim, 3*dim), g.float(dim, dim), g.float(dim, 4*dim), g.float(4*dim, dim)}
		params = append(params, args[1:]...)
		inputs := make([]*uop.UOp, len(args))
		for i, a := range args {
			inputs[i] = transform.Placeholder(a, a.DType, a.Shape())
		}
		out := block(inputs[0], inputs[1], inputs[2], inputs[3], inputs[4])
		x = must(transform.Checkpoint(transform.Func{Inputs: inputs, Outputs: []*uop.UOp{out}}, "", args))[0]
	}
	return must(gradient.Of(must(tensor.Mean(must(tensor.Mul(x, x)), nil, false)), params, nil))
}
