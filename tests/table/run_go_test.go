package table

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"unsafe"

	"polygrad/core/gradient"
	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
	"polygrad/tests/element"
	"polygrad/tests/guard"
	"polygrad/tests/part"
)

// A goCall is a case that is run on core/tensor.
type goCall struct {
	*Case
	g  *uop.Graph
	e  *exec.Executor
	b  []exec.Binding
	in []*uop.UOp // the inputs, seen through their views; nil for numbers
	x  []*uop.UOp // the operands among them
	t  *testing.T
	// computed: the operation has read elements while it was called.
	computed bool
}

// bind makes a buffer beside which nothing can be touched.
func (c *goCall) bind(dt *uop.DType, n int64) (*uop.UOp, unsafe.Pointer) {
	size, place := int(n)*dt.Itemsize(), len(c.b)
	u, p := c.g.NewBuffer("CPU", n, dt), guard.For(c.t, size, guard.Side(place%2), place/2%3*dt.Itemsize())
	c.b = append(c.b, exec.Binding{Buffer: u, Ptr: p, Bytes: int64(size)})
	return u, p
}

// leaf makes a tensor of the table.
func (c *goCall) leaf(t *Tensor) (*uop.UOp, error) {
	dt, err := t.Type()
	if err != nil {
		return nil, err
	}
	values, err := t.Elements()
	if err != nil {
		return nil, err
	}
	u, p := c.bind(dt, int64(len(values)))
	for i, v := range values {
		element.Put(p, int64(i), dt, v)
	}
	return u.Reshape(uop.ShapeOf(t.Shape...)), nil
}

// seen is a leaf through the view of its input.
func seen(u *uop.UOp, t *Tensor) (*uop.UOp, error) {
	steps, err := t.Movements()
	for _, m := range steps {
		if err != nil {
			break
		}
		switch m.Op {
		case "permute":
			u, err = tensor.Permute(u, toInts(m.Dims)...)
		case "flip":
			u, err = tensor.Flip(u, toInts(m.Dims)...)
		case "reshape":
			u, err = tensor.Reshape(u, uop.ShapeOf(m.Dims...))
		case "expand":
			u, err = tensor.Expand(u, uop.ShapeOf(m.Dims...))
		case "shrink":
			u, err = tensor.Shrink(u, toPairs(m.Pairs))
		default:
			err = fmt.Errorf("unknown movement %q", m.Op)
		}
	}
	return u, err
}

func toInts(v []int64) []int {
	if v == nil {
		return nil
	}
	out := make([]int, len(v))
	for i, n := range v {
		out[i] = int(n)
	}
	return out
}

func toPairs(v [][2]int64) []uop.Pair {
	out := make([]uop.Pair, len(v))
	for i, p := range v {
		out[i] = uop.Pair{Lo: uop.N(p[0]), Hi: uop.N(p[1])}
	}
	return out
}

// values computes a tensor.
func (c *goCall) values(u *uop.UOp) ([]uop.Const, error) {
	n, ok := u.Shape().Ints()
	if !ok {
		return nil, fmt.Errorf("shape %s is symbolic", u.Shape())
	}
	count := int64(1)
	for _, d := range n {
		count *= d
	}
	out := make([]uop.Const, count)
	if count == 0 {
		return out, nil
	}
	bound := len(c.b)
	dst, p := c.bind(u.DType, count)
	err := c.e.Realize(c.g.Sink(nil, dst.Store(u)), c.b, nil)
	c.b = c.b[:bound]
	for i := range out {
		out[i] = element.Get(p, int64(i), u.DType)
	}
	return out, err
}

// newGoCall makes the inputs of a case.
func newGoCall(t *testing.T, c *Case, e *exec.Executor) (*goCall, []*uop.UOp, error) {
	call := &goCall{t: t, Case: c, g: symbolic.NewGraph(), e: e, in: make([]*uop.UOp, len(c.Inputs))}
	leaves := make([]*uop.UOp, len(c.Inputs))
	for i, in := range c.Inputs {
		if in.Tensor == nil {
			continue
		}
		u, err := call.leaf(in.Tensor)
		if err != nil {
			return nil, nil, err
		}
		leaves[i] = u
		if call.in[i], err = seen(u, in.Tensor); err != nil {
			return nil, nil, err
		}
	}
	for _, i := range c.Operands() {
		call.x = append(call.x, call.in[i])
	}
	return call, leaves, nil
}

// close reports whether a value is the expected one.
func close(got, want uop.Const, rtol, atol float64) bool {
	if !want.IsFloat() {
		return got.Eq(want)
	}
	g, w := got.F(), want.F()
	return g == w || g != g && w != w || math.Abs(g-w) <= atol+rtol*math.Abs(w)
}

// compare reports how a result differs from what the table says.
func (c *goCall) compare(got *uop.UOp, want *Tensor) error {
	dt, err := want.Type()
	if err != nil {
		return err
	}
	if got.DType != dt {
		return fmt.Errorf("is %s, expected %s", got.DType, dt)
	}
	if !got.Shape().Equal(uop.ShapeOf(want.Shape...)) {
		return fmt.Errorf("has shape %s, expected %v", got.Shape(), want.Shape)
	}
	values, err := c.values(got)
	if err != nil {
		return err
	}
	expected, err := want.Elements()
	if err != nil {
		return err
	}
	for i, v := range values {
		if !close(v, expected[i], c.RTol, c.ATol) {
			return fmt.Errorf("element %d is %s, expected %s", i, v, expected[i])
		}
	}
	return nil
}

// loss is the sum of the weighted results, with the leaves that it is differentiated by and their gradients.
func (c *goCall) loss(outs, leaves []*uop.UOp) (loss *uop.UOp, wrt []*uop.UOp, want [][]float64, err error) {
	for i, out := range outs {
		if c.Weights[i] == nil {
			continue
		}
		dt := uop.Float64
		if !c.e.Device().Target().Supports(dt) {
			dt = uop.Float32
		}
		w, p := c.bind(dt, int64(len(c.Weights[i])))
		for k, v := range c.Weights[i] {
			element.Put(p, int64(k), dt, uop.Float(v))
		}
		part, err := tensor.Mul(out, w.Reshape(out.Shape()))
		if err == nil {
			part, err = tensor.Sum(part, nil, false)
		}
		if err == nil && loss != nil {
			part, err = tensor.Add(loss, part)
		}
		if err != nil {
			return nil, nil, nil, err
		}
		loss = part
	}
	for i, g := range c.Grads {
		if g != nil {
			wrt, want = append(wrt, leaves[i]), append(want, g)
		}
	}
	return loss, wrt, want, nil
}

// gradients compares the gradients of the weighted results.
func (c *goCall) gradients(outs, leaves []*uop.UOp) error {
	loss, wrt, want, err := c.loss(outs, leaves)
	if err != nil {
		return err
	}
	grads, err := gradient.Of(loss, wrt, nil)
	if err != nil {
		return err
	}
	for i, g := range grads {
		values, err := c.values(g)
		if err != nil {
			return err
		}
		for k, v := range values {
			if !close(v, uop.Float(want[i][k]), c.GradTol, c.GradTol) {
				return fmt.Errorf("element %d of gradient %d is %s, expected %v", k, i, v, want[i][k])
			}
		}
	}
	return nil
}

// run makes the call and compares what comes out.
func (c *goCall) run(leaves []*uop.UOp) error {
	outs, err := c.results()
	if c.Error != "" {
		return wantError(err, c.Error)
	}
	if err != nil {
		return err
	}
	if len(outs) != len(c.Outputs) {
		return fmt.Errorf("%d results, expected %d", len(outs), len(c.Outputs))
	}
	for i, out := range outs {
		if c.Outputs[i] == nil {
			continue
		}
		if err := c.compare(out, c.Outputs[i]); err != nil {
			return fmt.Errorf("result %d %w", i, err)
		}
	}
	if c.Grads == nil {
		return nil
	}
	return c.gradients(outs, leaves)
}

func wantError(err error, text string) error {
	if err == nil {
		return fmt.Errorf("no error, expected one about %q", text)
	}
	if !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(text)) {
		return fmt.Errorf("error %q, expected one about %q", err, text)
	}
	return nil
}

func testGo(t *testing.T, device string, parts, offset int) {
	e, err := exec.Open(device)
	if err != nil {
		t.Fatal(err)
	}
	testGoOn(t, e, parts, offset)
}

// runOn runs a case on a device.
func runOn(t *testing.T, c *Case, e *exec.Executor) error {
	call, leaves, err := newGoCall(t, c, e)
	if err != nil {
		return err
	}
	return call.run(leaves)
}

// testGoOn runs the cases, or one in so many of them, on a device.
func testGoOn(t *testing.T, e *exec.Executor, parts, offset int) {
	cases, err := Read(Path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range part.Of(t, cases, parts, offset) {
		t.Run(c.Name, func(t *testing.T) {
			if err := runOn(t, c, e); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestGoWasm runs parts of the table on core/tensor and the portable device.
func TestGoWasm(t *testing.T) { testGo(t, "wasm", 3, 0) }

// TestGoInterpreter runs parts of it on the device that the others are compared with.
func TestGoInterpreter(t *testing.T) { testGo(t, "interp", part.Week, 4) }
