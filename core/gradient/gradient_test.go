package gradient

import (
	"strings"
	"testing"

	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

func leaf(g *uop.Graph, dims ...int64) *uop.UOp {
	s := uop.ShapeOf(dims...)
	return g.NewBuffer("CPU", s.MaxNumel(), uop.Float32).Reshape(s)
}

func TestErrors(t *testing.T) {
	g := symbolic.NewGraph()
	x := leaf(g, 3)
	foreign := leaf(symbolic.NewGraph(), 3)
	whole := g.NewBuffer("CPU", 3, uop.Int32)
	for _, c := range []struct {
		loss, wrt, seed *uop.UOp
		want            string
	}{
		{nil, x, nil, "gradient.Of: loss: is nil"},
		{x, nil, nil, "gradient.Of: wrt[0]: is nil"},
		{whole, x, nil, "gradient.Of: loss: is int, expected a floating point type"},
		{x, whole, nil, "gradient.Of: wrt[0]: is int"},
		{x, foreign, nil, "gradient.Of: wrt[0]: belongs to a different context"},
		{g.Sink(nil, x), x, nil, "gradient.Of: loss: is a SINK node without a shape"},
		{x, x, leaf(g, 4), "gradient.Of: seed: is float (4), expected float (3) as the loss"},
		{g.New(uop.Threefry, x.DType, []*uop.UOp{x, x}, nil, nil), x, nil, "gradient.Of: loss: THREEFRY has no derivative (float of shape (3))"},
	} {
		if _, err := Of(c.loss, []*uop.UOp{c.wrt}, c.seed); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, need %q", err, c.want)
		}
	}
}

// Operations on integers and bools are steps: no gradient flows back through them; other terms keep their gradients.
func TestStepsHaveNoGradient(t *testing.T) {
	g := symbolic.NewGraph()
	x := leaf(g, 3)
	mask := x.Lt(number(x, 0)).Or(x.Lt(number(x, 9)))
	rest := x.Cast(uop.Int32).ModInt(2).Cast(uop.Float32)
	for _, loss := range []*uop.UOp{rest, mask.Cast(uop.Float32)} {
		grads, err := Of(loss, []*uop.UOp{x}, nil)
		if err != nil || grads[0] != number(x, 0) {
			t.Errorf("gradient %v, error %v, need zeros", grads, err)
		}
	}
	grads, err := Of(rest.Add(x), []*uop.UOp{x}, nil)
	if err != nil || grads[0] != number(x, 1) {
		t.Errorf("gradient %v, error %v, need ones", grads, err)
	}
}

func TestUnreachableTargetsGetZeros(t *testing.T) {
	g := symbolic.NewGraph()
	x, y := leaf(g, 2, 3), leaf(g, 2, 3)
	loss := x.Mul(x).Add(y.DetachOp())
	grads, err := Of(loss, []*uop.UOp{y, x, loss}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if zero := y.ConstLike(uop.Float(0)); grads[0] != zero {
		t.Errorf("behind DETACH: %s, need zeros", grads[0])
	}
	if !grads[1].Shape().Equal(x.Shape()) || grads[1].Op != uop.Add {
		t.Errorf("x: %s of shape %s", grads[1], grads[1].Shape())
	}
	if grads[2] != loss.ConstLike(uop.Float(1)) {
		t.Errorf("the loss itself: %s, need ones", grads[2])
	}
}

// A comparison on the way passes no gradient but is no error.
func TestComparisonsAreSteps(t *testing.T) {
	g := symbolic.NewGraph()
	x := leaf(g, 3)
	grads, err := Of(x.Lt(number(x, 1)).Cast(uop.Float32), []*uop.UOp{x}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if grads[0] != x.ConstLike(uop.Float(0)) {
		t.Errorf("got %s, need zeros", grads[0])
	}
}

// The gradient of a softmax is made of its value, so that the exponentials need not be kept: e is read by the value and by the sum only.
func TestGradientOfASoftmaxReadsItsValue(t *testing.T) {
	for _, dt := range []*uop.DType{uop.Float32, uop.Float16} {
		g := symbolic.NewGraph()
		x, w := leaf(g, 4, 8), leaf(g, 4, 8).Cast(dt)
		e := x.Exp2()
		y := e.Cast(dt).Mul(e.ReduceAxes(uop.Add, 1).Recip().Cast(dt).Expand(e.Shape()))
		if s, ok := SoftmaxOf(y); !ok || s.Z != x {
			t.Fatalf("%s: the softmax is not found", dt)
		}
		grads, err := Of(y.Mul(w).Cast(uop.Float32).ReduceAxes(uop.Add, 0, 1), []*uop.UOp{x}, nil)
		if err != nil {
			t.Fatal(err)
		}
		users := map[*uop.UOp]bool{}
		for _, u := range grads[0].Toposort() {
			for _, s := range u.Src {
				if s == e {
					users[u] = true
				}
			}
		}
		if len(users) != 2 {
			t.Errorf("%s: %d nodes read the exponentials, need 2", dt, len(users))
		}
		unlike := e.Mul(e.ReduceAxes(uop.Add, 1).Recip().Expand(e.Shape())).Mul(w.Cast(uop.Float32))
		if _, ok := SoftmaxOf(unlike); ok {
			t.Error("a product with a softmax is taken for one")
		}
	}
}
