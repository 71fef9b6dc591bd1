package tree_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"polygrad"
	"polygrad/tree"
)

type T = *polygrad.Tensor

type layer struct {
	W, B T
	Name string
}

type model struct {
	Layers []*layer
	Scales map[string]T
	Head   struct{ Out, Bias T }
	Power  int
	skip   []float64
}

type batch struct{ X, Y T }

func newModel() *model {
	m := &model{
		Layers: []*layer{
			{W: polygrad.From([]float64{1, 2, 3, 4}, 2, 2), B: polygrad.From([]float64{0.5, -0.5}), Name: "first"},
			{W: polygrad.From([]float64{1, -1, 0.5, 2}, 2, 2), Name: "second"},
		},
		Scales: map[string]T{"b": polygrad.Scalar(3.0), "a": polygrad.Scalar(2.0)},
		Power:  2, skip: []float64{1},
	}
	m.Head.Out = polygrad.From([]float64{1, -2})
	return m
}

func loss(m *model, d batch) (T, error) {
	x := d.X
	for _, l := range m.Layers {
		if x = x.MatMul(l.W); l.B != nil {
			x = x.Add(l.B)
		}
	}
	x = x.Mul(m.Scales["a"]).Add(m.Scales["b"]).Mul(m.Head.Out).Sub(d.Y)
	return x.Pow(m.Power).Mean(), nil
}

func data() batch {
	return batch{polygrad.From([]float64{0.1, 0.2, -0.3, 0.4, 0.5, -0.6}, 3, 2), polygrad.From([]float64{1, 2, 3, 4, 5, 6}, 3, 2)}
}

func values(t *testing.T, x T) []float64 {
	t.Helper()
	v, err := polygrad.Values[float64](x.Cast(polygrad.Float64))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func near(t *testing.T, what string, x T, want ...float64) {
	t.Helper()
	if x == nil {
		t.Fatalf("%s: nil", what)
	}
	got := values(t, x)
	if len(got) != len(want) {
		t.Fatalf("%s: %v, expected %v", what, got, want)
	}
	for i, w := range want {
		if !(math.Abs(got[i]-w) <= 1e-9*(1+math.Abs(w))) {
			t.Fatalf("%s: %v, expected %v", what, got, want)
		}
	}
}

func must[R any](r R, err error) R {
	if err != nil {
		panic(err)
	}
	return r
}

// Gradients are trees like the parameters, equal to those of package polygrad.
func TestGradientsOfAModel(t *testing.T) {
	m, d := newModel(), data()
	value, g, err := tree.ValueAndGrad(loss)(m, d)
	if err != nil {
		t.Fatal(err)
	}
	if g == m || g.Layers[0] == m.Layers[0] || g.Layers[0].Name != "first" || g.Layers[1].B != nil || g.Power != 2 || !reflect.DeepEqual(g.skip, m.skip) {
		t.Errorf("%+v is no tree like the model", g)
	}
	near(t, "loss", value, values(t, must(loss(m, d)))...)
	params := polygrad.Parameters(m)
	found := must(loss(m, d)).Gradient(params)
	for i, x := range must(tree.Leaves(g)) {
		near(t, fmt.Sprint("gradient ", i), x, values(t, found[i])...)
	}
	moved := must(tree.Map(func(xs ...T) T { return xs[0].Sub(xs[1].Mul(0.001)) }, m, g))
	if after := values(t, must(loss(moved, d)))[0]; after >= values(t, value)[0] {
		t.Errorf("a step down leads from %v to %v", values(t, value)[0], after)
	}
	scales := must(tree.Leaves(m.Scales))
	near(t, "keys are sorted", scales[0], 2)

	withAux := func(m *model, d batch) (T, map[string]any, error) {
		l, err := loss(m, d)
		return l, map[string]any{"double": l.Mul(2), "name": m.Layers[0].Name, "none": nil}, err
	}
	_, aux, _, err := tree.ValueAndGradAux(withAux)(m, d)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "aux", aux["double"].(T), 2*values(t, value)[0])
	if aux["name"] != "first" || aux["none"] != nil {
		t.Errorf("aux %v", aux)
	}
}

func TestBatches(t *testing.T) {
	m, d := newModel(), data()
	each := tree.VMap(tree.Grad(loss), tree.Axes{Params: polygrad.Unmapped})
	one := batch{d.X.Reshape(3, 1, 2), d.Y.Reshape(3, 1, 2)}
	g, err := each(m, one)
	if err != nil {
		t.Fatal(err)
	}
	whole := must(tree.Grad(loss)(m, d))
	near(t, "the mean of the gradients of examples", g.Layers[0].W.Mean(polygrad.WithAxis(0)), values(t, whole.Layers[0].W)...)
	// Axes for parts of trees, and results that are not batched.
	type pair struct{ A, B T }
	f := func(p pair, s map[string]T) (pair, error) { return pair{p.A.Mul(s["x"]).Sum(), s["y"]}, nil }
	axes := tree.Axes{Params: map[string]any{"A": 1, "B": polygrad.Unmapped}, Data: map[string]int{"x": polygrad.Unmapped, "y": polygrad.Unmapped}, Result: pairAxes{0, polygrad.Unmapped}}
	got, err := tree.VMap(f, axes)(pair{A: polygrad.From([]float64{1, 2, 3, 4, 5, 6}, 2, 3)}, map[string]T{"x": polygrad.From([]float64{1, 10}), "y": polygrad.Scalar(7.0)})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "A", got.A, 41, 52, 63)
	near(t, "B", got.B, 7)
	share := func(x T, _ tree.None) (T, error) { return x.Div(polygrad.Along("psum", "i", x)), nil }
	near(t, "psum", must(tree.VMap(share, tree.Axes{Name: "i"})(polygrad.From([]float64{1, 3}), tree.None{})), 0.25, 0.75)
}

type pairAxes struct{ A, B int }

func TestModesOfDerivatives(t *testing.T) {
	type point struct{ X, Y T }
	f := func(p point) ([]T, error) { return []T{p.X.Mul(p.Y), p.X.Sin()}, nil }
	at, along := point{polygrad.Scalar(2.0), polygrad.Scalar(3.0)}, point{polygrad.Scalar(1.0), polygrad.Scalar(10.0)}
	value, change, err := tree.JVP(f, at, along)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "value", value[0], 6)
	near(t, "change", change[0], 23)
	near(t, "change of the sine", change[1], math.Cos(2))
	_, linear, err := tree.Linearize(f, at)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "Linearize", must(linear(along))[0], 23)
	_, pullback, err := tree.VJP(f, at)
	if err != nil {
		t.Fatal(err)
	}
	g := must(pullback([]T{polygrad.Scalar(1.0), polygrad.Scalar(2.0)}))
	near(t, "gradient by X", g.X, 3+2*math.Cos(2))
	near(t, "gradient by Y", g.Y, 2)

	cube := func(p point, k tree.None) (T, error) { return p.X.Pow(3).Mul(p.Y).Sum(), nil }
	v := point{polygrad.From([]float64{1, 2}), polygrad.Scalar(2.0)}
	square := func(p point, k tree.None) (T, error) { return p.X.Square().Mul(p.Y), nil }
	near(t, "JacFwd", must(tree.JacFwd(square)(v, tree.None{})).X, 4, 0, 0, 8)
	near(t, "JacRev", must(tree.JacRev(square)(v, tree.None{})).Y, 1, 4)
	h := must(tree.Hessian(cube)(v, tree.None{}))
	near(t, "XX", h[".X"].X, 12, 0, 0, 24)
	near(t, "YX", h[".Y"].X, 3, 12)
	hv := must(tree.HVP(cube, v, tree.None{}, point{polygrad.From([]float64{1, 1}), polygrad.Scalar(1.0)}))
	near(t, "HVP", hv.X, 12+3, 24+12)
	near(t, "HVP by Y", hv.Y, 15)
	near(t, "Checkpoint", must(tree.Grad(tree.Checkpoint(cube, ""))(v, tree.None{})).X, 6, 24)

	// Integers have no derivatives.
	type counted struct{ X, N T }
	n := counted{polygrad.Scalar(3.0), polygrad.From([]int32{2, 3})}
	times := func(c counted) (counted, error) { return counted{c.X.Mul(c.N).Sum(), c.N}, nil }
	_, back, err := tree.VJP(times, n)
	if err != nil {
		t.Fatal(err)
	}
	found := must(back(counted{X: polygrad.Scalar(1.0)}))
	near(t, "beside integers", found.X, 5)
	if found.N != nil {
		t.Errorf("an integer has the gradient %v", found.N)
	}
	_, ch, err := tree.JVP(times, n, counted{X: polygrad.Scalar(2.0)})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "tangent beside integers", ch.X, 10)
}

type state struct {
	Position, Velocity T
	Name               string
}

func TestLoops(t *testing.T) {
	init := state{polygrad.Scalar(0.0), polygrad.Scalar(1.0), "ball"}
	step := func(s state, force T) (state, map[string]T, error) {
		s.Velocity = s.Velocity.Add(force)
		s.Position = s.Position.Add(s.Velocity)
		return s, map[string]T{"at": s.Position}, nil
	}
	last, path, err := tree.Scan(step, init, polygrad.From([]float64{1, 0, 2}), -1, false)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "last", last.Position, 2+2+4)
	near(t, "path", path["at"], 2, 4, 8)
	if last.Name != "ball" {
		t.Errorf("name %q", last.Name)
	}
	end := func(s state, force T) (T, error) {
		last, _, err := tree.Scan(step, s, force, -1, false)
		return last.Position.Square(), err
	}
	near(t, "through the loop", must(tree.Grad(end)(init, polygrad.From([]float64{1, 0, 2}))).Velocity, 2*8*3)
	twice := must(tree.ForLoop(0, 3, func(i T, s state) (state, error) {
		s.Position = s.Position.Add(i.Cast(polygrad.Float64).Mul(s.Velocity))
		return s, nil
	}, init))
	near(t, "ForLoop", twice.Position, 3)
	near(t, "Each", must(tree.Each(func(b batch) (T, error) { return b.X.Mul(b.Y).Sum(), nil }, data())), 0.5, 0.7, -1.1)
	grown := must(tree.WhileLoop(func(s state) (T, error) { return s.Position.Lt(100), nil }, func(s state) (state, error) {
		s.Position = s.Position.Mul(2).Add(1)
		return s, nil
	}, init))
	near(t, "WhileLoop", grown.Position, 127)
	type affine struct{ A, B T }
	line := must(tree.AssociativeScan(func(a, b affine) (affine, error) {
		return affine{a.A.Mul(b.A), a.B.Mul(b.A).Add(b.B)}, nil
	}, affine{polygrad.From([]float64{1, 2, 3}), polygrad.From([]float64{1, 1, 1})}, false))
	near(t, "AssociativeScan", line.B, 1, 3, 10)
	specs := must(tree.EvalShape(func(s state, x T) (map[string]T, error) {
		return map[string]T{"at": x.Mul(s.Position), "is": s.Velocity.Gt(0)}, nil
	}, init, polygrad.Zeros([]int{3})))
	if at, is := specs[`["at"]`], specs[`["is"]`]; !slices.Equal(at.Shape, []int{3}) || is.DType != polygrad.Bool || len(specs) != 2 {
		t.Errorf("EvalShape: %v", specs)
	}
	yes := func(s state) (state, error) { s.Position = s.Position.Add(5); return s, nil }
	no := func(s state) (state, error) { return s, nil }
	near(t, "Cond", must(tree.Cond(polygrad.Scalar(true), yes, no, init)).Position, 5)
	near(t, "Switch", must(tree.Switch(polygrad.From([]int32{1}).Reshape(), []func(state) (state, error){yes, no}, init)).Position, 0)
}

func TestJit(t *testing.T) {
	calls := 0
	step := tree.Jit(func(m *model, d batch) (*model, error) {
		calls++
		g, err := tree.Grad(loss)(m, d)
		if err != nil {
			return nil, err
		}
		return tree.Map(func(xs ...T) T { return xs[0].Sub(xs[1].Mul(0.01)) }, m, g)
	})
	m, d := newModel(), data()
	next := must(step.Call(m, d))
	want := must(tree.Map(func(xs ...T) T { return xs[0].Sub(xs[1].Mul(0.01)) }, m, must(tree.Grad(loss)(m, d))))
	near(t, "a step", next.Layers[0].W, values(t, want.Layers[0].W)...)
	for range 3 {
		next = must(step.Call(next, d))
	}
	other := newModel()
	other.Power = 4 // another static argument
	must(step.Call(other, d))
	must(step.Call(m, batch{d.X.Index(polygrad.Slice(0, 2)), d.Y.Index(polygrad.Slice(0, 2))})) // another shape
	if got := step.CacheInfo(); calls != 3 || got != (tree.CacheInfo{Hits: 3, Misses: 3, Size: 3}) {
		t.Errorf("%d calls, %+v", calls, got)
	}
	if n, err := step.Kernels(m, d); err != nil || n < 1 {
		t.Errorf("%d kernels, %v", n, err)
	}
	step.ClearCache()
	if got := step.CacheInfo(); got != (tree.CacheInfo{}) {
		t.Errorf("%+v", got)
	}
	square := tree.Jit(func(x T, power int) (T, error) { return x.Pow(power).Sum(), nil })
	near(t, "static", must(square.Call(polygrad.From([]float64{1, 2}), 3)), 9)
	near(t, "in Grad", must(tree.Grad(square.Call)(polygrad.From([]float64{1, 2}), 3)), 3, 12)
	near(t, "in Jit", must(tree.Jit(func(x T, _ tree.None) (T, error) { return square.Call(x, 2) }).Call(polygrad.From([]float64{1, 2}), tree.None{})), 5)
}

type hidden struct{ w T }

type node struct {
	X    T
	Next *node
}

func TestErrors(t *testing.T) {
	m, d := newModel(), data()
	scalar := polygrad.Scalar(1.0)
	ints := newModel()
	ints.Layers[1].B = polygrad.From([]int32{1, 2})
	bad := newModel()
	bad.Head.Bias = polygrad.From([]float64{1, 2}).Reshape(3)
	ring := &node{X: scalar}
	ring.Next = ring
	same := func(x T, _ tree.None) (T, error) { return x, nil }
	sum := func(m *node, _ tree.None) (T, error) { return m.X.Sum(), nil }
	none := tree.None{}
	for _, c := range []struct {
		name string
		run  func() error
		want string
	}{
		{"integers", func() error { _, err := tree.Grad(loss)(ints, d); return err },
			"polygrad: tree.Grad: params.Layers[1].B is int32, expected a floating type to differentiate by: pass it in data"},
		{"an error", func() error { _, err := tree.Grad(loss)(bad, d); return err }, "polygrad: tree.Grad: params.Head.Bias: polygrad: Reshape: "},
		{"no loss", func() error { _, err := tree.Grad(same)(polygrad.From([]float64{1, 2}), none); return err },
			"polygrad: tree.Grad: the function returns float64 of shape (2), expected a loss: a scalar of a floating type (see sum and mean)"},
		{"nil loss", func() error {
			_, err := tree.Grad(func(x T, _ tree.None) (T, error) { return nil, nil })(scalar, none)
			return err
		}, "polygrad: tree.Grad: the function returns no loss"},
		{"nothing", func() error {
			_, err := tree.Grad(func(x tree.None, _ T) (T, error) { return nil, nil })(none, scalar)
			return err
		}, "polygrad: tree.Grad: params: has no tensor, expected one or more to differentiate by"},
		{"no function", func() error { _, err := tree.Grad[T, T](nil)(scalar, scalar); return err }, "polygrad: tree.Grad: f: is nil, expected a function"},
		{"not exported", func() error {
			_, err := tree.Grad(func(h hidden, _ tree.None) (T, error) { return h.w, nil })(hidden{scalar}, none)
			return err
		}, "polygrad: tree.Grad: params.w: holds tensors and is not exported"},
		{"a ring", func() error { _, err := tree.Grad(sum)(ring, none); return err }, "polygrad: tree.Grad: params.Next: is a pointer to what it is in, expected a tree"},
		{"keys", func() error { _, err := tree.Leaves(map[int]T{1: scalar}); return err }, "polygrad: tree.Leaves: tree: is a map[int]*polygrad.Tensor, expected string keys"},
		{"sizes", func() error {
			_, err := tree.VMap(loss, tree.Axes{Params: polygrad.Unmapped})(m, batch{d.X, d.Y.Index(polygrad.Slice(0, 2))})
			return err
		}, "polygrad: tree.VMap: data.Y has size 2 along axis 0, expected 3 as data.X along axis 0"},
		{"axes", func() error {
			_, err := tree.VMap(loss, tree.Axes{Params: polygrad.Unmapped, Data: map[string]int{"X": 0}})(m, d)
			return err
		},
			"polygrad: tree.VMap: data: map[X:0], expected an axis for data.Y"},
		{"no axis", func() error {
			_, err := tree.VMap(loss, tree.Axes{Params: polygrad.Unmapped, Data: "x"})(m, d)
			return err
		},
			"polygrad: tree.VMap: data: x, expected an axis for data.X"},
		{"a result that differs", func() error {
			_, err := tree.VMap(func(p batch, _ tree.None) (batch, error) { return p, nil }, tree.Axes{Result: pairs{0, polygrad.Unmapped}})(d, none)
			return err
		}, "polygrad: tree.VMap: out_axes: none for result.Y, which differs among the elements of the batch"},
		{"a carry", func() error {
			_, _, err := tree.Scan(func(s state, x T) (state, T, error) { s.Velocity = x.Cast(polygrad.Float32); return s, x, nil },
				state{scalar, scalar, ""}, polygrad.From([]float64{1}), -1, false)
			return err
		}, "polygrad: tree.Scan: carry.Velocity is float64 of shape (), and float32 of shape () after a step"},
		{"a static carry", func() error {
			_, err := tree.ForLoop(0, 3, func(i T, s state) (state, error) { s.Name += "!"; return s, nil }, state{scalar, scalar, ""})
			return err
		}, "polygrad: tree.ForLoop: the carry after a step is not as before where it is no tensor: what changes must be a tensor"},
		{"sequences", func() error {
			_, err := tree.Each(func(b batch) (T, error) { return b.X, nil }, batch{d.X, scalar})
			return err
		}, "polygrad: tree.Each: sequences.Y: is a scalar, expected at least 1 dimension"},
		{"branches", func() error {
			_, err := tree.Cond(polygrad.Scalar(true), func(x T) ([]T, error) { return []T{x}, nil }, func(x T) ([]T, error) { return []T{x, x}, nil }, scalar)
			return err
		}, "polygrad: tree.Cond: the result of ifTrue has the tensors [result[0]], expected [result[0] result[1]] as that of ifFalse"},
		{"static results of branches", func() error {
			name := func(name string) func(x T) (state, error) {
				return func(x T) (state, error) { return state{x, x, name}, nil }
			}
			_, err := tree.Cond(polygrad.Scalar(true), name("a"), name("b"), scalar)
			return err
		}, "polygrad: tree.Cond: the result of ifTrue is not as that of ifFalse where it is no tensor"},
		{"tangents", func() error {
			_, _, err := tree.JVP(func(b batch) (T, error) { return b.X, nil }, d, batch{X: d.X})
			return err
		}, "polygrad: tree.JVP: tangents.Y: is nil, expected a tensor like primals.Y"},
		{"the shape of a tangent", func() error {
			_, _, err := tree.JVP(func(b batch) (T, error) { return b.X, nil }, d, batch{X: scalar, Y: d.Y})
			return err
		}, "polygrad: tree.JVP: tangents.X is float64 of shape [], expected float64 of shape [3 2] as primals.X"},
		{"trees that differ", func() error {
			_, err := tree.Map(func(xs ...T) T { return xs[0] }, []T{scalar}, []T{scalar, scalar})
			return err
		},
			"polygrad: tree.Map: a tree has the tensors [tree[0] tree[1]], expected [tree[0]] as the first one"},
		{"a function in the arguments", func() error {
			_, err := tree.Jit(func(x T, act func(T) T) (T, error) { return act(x), nil }).Call(scalar, func(x T) T { return x })
			return err
		}, "polygrad: tree.Jit: data: is a func(*polygrad.Tensor) *polygrad.Tensor, whose value cannot be compared: let the function read it from outside"},
		{"a value in Jit", func() error {
			_, err := tree.Jit(func(x T, _ tree.None) (T, error) { _, err := x.Item(); return x, err }).Call(scalar, none)
			return err
		}, "a value is needed while"},
	} {
		err := c.run()
		var known *tree.Error
		if err == nil || !strings.HasPrefix(err.Error(), c.want) && !strings.Contains(err.Error(), c.want) || !errors.As(err, &known) && c.name != "a value in Jit" {
			t.Errorf("%s: error %v, expected %s", c.name, err, c.want)
		}
	}
	// Errors of the function come through.
	own := errors.New("mine")
	if _, err := tree.Grad(func(x T, _ tree.None) (T, error) { return nil, own })(scalar, none); !errors.Is(err, own) {
		t.Errorf("error %v, expected %v in it", err, own)
	}
}

type pairs struct{ X, Y int }
