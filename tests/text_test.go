package tests

import (
	"strings"
	"testing"

	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/transform"
	"polygrad/core/uop"
)

// What core/tensor composes is read by its usual name.
func TestTextNamesCompositions(t *testing.T) {
	for _, c := range []struct {
		f    func(x *uop.UOp) (*uop.UOp, error)
		want string // of the equations, without types
	}{
		{tensor.Exp, "b = exp a"},
		{tensor.Log, "b = log a"},
		{tensor.Neg, "b = neg a"},
		{tensor.Floor, "b = floor a"},
		{tensor.Ceil, "b = ceil a"},
		{tensor.Sigmoid, "b = logistic a"},
		{tensor.Tanh, "b = tanh a"},
		{tensor.Log1p, "b = log1p a"},
		{tensor.Relu, "b = max a 0.0"},
		{func(x *uop.UOp) (*uop.UOp, error) { return tensor.Minimum(x, x.Sqrt()) }, "b = sqrt a; c = min a b"},
		{func(x *uop.UOp) (*uop.UOp, error) {
			x = x.Cast(uop.Uint8)
			return tensor.Minimum(x, x.ConstLike(uop.Int(3)))
		}, "b = cast[uint8] a; c = min b 3"},
		{func(x *uop.UOp) (*uop.UOp, error) {
			x = x.Cast(uop.Int32)
			y, err := tensor.Maximum(x, x.ConstLike(uop.Int(3)))
			if err != nil {
				return nil, err
			}
			return tensor.BitNot(y)
		}, "b = cast[int32] a; c = max b 3; d = not c"},
		{func(x *uop.UOp) (*uop.UOp, error) { return tensor.ClampTo(x, -1, 2) }, "b = max a -1.0; c = min b 2.0"},
		{func(x *uop.UOp) (*uop.UOp, error) { return tensor.Eq(x, x.ConstLike(uop.Int(1))) }, "b = cmpeq a 1.0"},
		{func(x *uop.UOp) (*uop.UOp, error) { v, _, err := tensor.Sort(x, 1, false); return v, err }, "b = argsort[1,0] a; c = gather[1] a b"},
		{func(x *uop.UOp) (*uop.UOp, error) { _, at, err := tensor.Sort(x, 1, true); return at, err }, "b = argsort[1,1] a"},
		{func(x *uop.UOp) (*uop.UOp, error) { return tensor.ArgMax(x, 0, false) }, "b = argmax[0] a"},
		{func(x *uop.UOp) (*uop.UOp, error) { return tensor.CumSum(x, 1) }, "b = prefix_axis[add(1)] a"},
	} {
		x := symbolic.NewGraph().NewBuffer("CPU", 6, uop.Float32).Reshape(uop.ShapeOf(2, 3))
		y, err := c.f(x)
		if err != nil {
			t.Fatal(err)
		}
		var equations []string
		for line := range strings.Lines(transform.Text(transform.Func{Inputs: []*uop.UOp{x}, Outputs: []*uop.UOp{y}})) {
			if name, right, is := strings.Cut(strings.TrimSpace(line), " = "); is {
				name, _, _ = strings.Cut(name, ":")
				equations = append(equations, name+" = "+right)
			}
		}
		if got := strings.Join(equations, "; "); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}
