package tensor

import (
	"fmt"
	"strings"

	"polygrad/core/uop"
)

// function computes n results from inputs by a body. The graph of the body is built once for all inputs of the same shapes and types, and each use of
// it is one node: a REPEAT of one statement. numbers are the other parameters of the body.
func function(name string, numbers []int64, n int, inputs []*uop.UOp, body func(in []*uop.UOp) []*uop.UOp) []*uop.UOp {
	g := inputs[0].Graph()
	var b strings.Builder
	fmt.Fprintf(&b, "%s%v", name, numbers)
	for _, x := range inputs {
		fmt.Fprintf(&b, " %s %s %s", x.DType, x.Shape(), x.Device())
	}
	param := func(i int, dt *uop.DType, s uop.Shape) *uop.UOp {
		size := g.ShapeArg(uop.ShapeOf(s.MaxNumel()))
		return g.New(uop.Param, dt, []*uop.UOp{size, g.DeviceOp(inputs[0].Device())}, uop.Num(i), nil)
	}
	statement := g.Made(b.String(), func() *uop.UOp {
		in := make([]*uop.UOp, len(inputs))
		for i, x := range inputs {
			in[i] = param(n+i, x.DType, x.Shape()).Reshape(x.Shape())
		}
		stores := make([]*uop.UOp, n)
		for i, v := range body(in) {
			stores[i] = param(i, v.DType, v.Shape()).Store(v)
		}
		return g.Sink(nil, g.Sink(nil, stores...))
	})
	states := make([]*uop.UOp, n)
	for i, s := range statement.Src[0].Src {
		dims, _ := s.Src[1].Shape().Ints()
		states[i] = zeros(inputs[0], s.Src[1].DType, dims...)
	}
	return g.RepeatOn(uop.RepeatArg{Variable: name, Count: 1, States: n}, statement.Src, states, inputs)
}
