package variable

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"polygrad/core/gradient"
	"polygrad/core/tensor"
	"polygrad/core/transform"
	"polygrad/core/uop"
)

// A Tracing makes an Expr of a function: the function is called on placeholders, which have no elements, and its results are expressions
// of these. Tracings nest; nothing that a function does to tensors from outside outlives one, so writes to them are errors.
type Tracing struct {
	caller string
	ctx    *Context
	args   []*value   // retained
	inputs []*uop.UOp // the nodes of args, packed
	size   uop.Sint   // of the batch, noBatch if there is none
	axis   *transform.Axis
	noGrad int // the depth of NoGrad outside
}

// An Expr is a function of tensors as a graph: outputs that are computed from inputs. Transformations make one of another.
type Expr struct {
	ctx    *Context
	caller string
	// Complex tensors are real ones with a last axis of 2 (uop.UOp.Packed): inComplex and outComplex say which inputs and outputs are.
	inputs, outputs       []*uop.UOp
	inComplex, outComplex []bool
	// size is that of the axes that the function was traced without, noBatch if there are none.
	size uop.Sint
	// axis is the name of these axes, nil for none.
	axis *transform.Axis
	// from are the values that the outputs are computed from beside the inputs; retained.
	from    []*value
	missing []*MissingRule
}

// noBatch is the size of the batch of a function that is traced with all axes of its arguments.
var noBatch = uop.N(-1)

// Unmapped is the axis of an argument that has none for the batch.
const Unmapped = -1

// deepest is the limit of nested traces: a function that calls itself has more.
const deepest = 64

// Express begins a tracing, until End or Abandon. caller names the transformation in errors. given are placeholders with the shapes and
// types of args, without the axis of axes[i] where that is not Unmapped; nil axes are none. These axes have one size.
func (c *Context) Express(caller string, args []*Variable, axes []int) (t *Tracing, given []*Variable, err error) {
	like, shapes := make([]*uop.UOp, len(args)), make([]uop.Shape, len(args))
	size, first := noBatch, -1
	for i, v := range args {
		if v.ctx != c {
			return nil, nil, fmt.Errorf("argument %d: %w", i, ErrOtherContext)
		}
		s := v.Node().Shape()
		if axes != nil && axes[i] != Unmapped {
			switch a := axes[i]; {
			case a < 0 || a >= len(s):
				return nil, nil, fmt.Errorf("argument %d has shape %s, which has no axis %d for the batch", i, s, a)
			case first < 0:
				first, size = i, s[a]
			case s[a] != size:
				return nil, nil, fmt.Errorf("argument %d has size %s along axis %d, expected %s as argument %d along axis %d", i, s[a], a, size, first, axes[first])
			}
			s = slices.Delete(slices.Clone(s), axes[i], axes[i]+1)
		}
		like[i], shapes[i] = v.Node(), s
	}
	return c.begin(&Tracing{caller: caller, ctx: c, size: size}, like, shapes)
}

// ExpressRule begins the tracing of a rule for a batch.
func (c *Context) ExpressRule(caller string, m *MissingRule) (t *Tracing, given []*Variable, err error) {
	like := m.Inputs()
	shapes := make([]uop.Shape, len(like))
	for i, u := range like {
		shapes[i] = u.Shape()
	}
	return c.begin(&Tracing{caller: caller, ctx: c, size: noBatch}, like, shapes)
}

// begin begins a tracing on placeholders of the types of tensors, and of shapes.
func (c *Context) begin(t *Tracing, like []*uop.UOp, shapes []uop.Shape) (_ *Tracing, given []*Variable, err error) {
	if len(c.tracings) == deepest {
		return nil, nil, fmt.Errorf("%d functions are traced in one another: the function transforms itself without an end, or calls itself in a branch, which is traced whether it is taken or not; while_loop and scan are loops", deepest)
	}
	nodes := make([]*uop.UOp, len(like))
	for i, u := range like {
		dt, s := u.DType, shapes[i]
		if dt.IsComplex() {
			dt, s = dt.Plane(), append(slices.Clone(s), uop.N(2))
		}
		packed, err := c.newBuffer(dt, s)
		if err != nil {
			return nil, nil, fmt.Errorf("argument %d: %w", i, err)
		}
		t.inputs, nodes[i] = append(t.inputs, packed), packed
		if u.DType.IsComplex() {
			nodes[i] = packed.Unpacked()
		}
	}
	t.noGrad, c.noGradDepth = c.noGradDepth, 0
	c.tracings = append(c.tracings, t)
	for _, node := range nodes {
		x := c.newValue(node)
		x.argument = true
		x.retain()
		c.arguments[node.Storage()] = t
		t.args = append(t.args, x)
		given = append(given, c.variable(x))
	}
	return t, given, nil
}

// Tracing is the last one that has begun and not ended, nil for none.
func (c *Context) Tracing() *Tracing { return c.innermost() }

// SetAxis gives the axis of the batch a name. size is that of the batch, -1 for that of the axes that the function is traced without.
func (t *Tracing) SetAxis(name string, size int64) error {
	if size < 0 {
		if t.size.Symbolic() || t.size == noBatch {
			return fmt.Errorf("the axis %q has no size: no argument has an axis for the batch, or its size is no number", name)
		}
		size = t.size.N
	}
	t.axis = &transform.Axis{Name: name, Size: size}
	return nil
}

// Along is an operation along an axis with a name: "psum", "all_gather", "axis_index" (x is then any tensor), or "own", which takes the part of an
// element of what all_gather gives. size is that of the axis.
func (c *Context) Along(operation, name string, x *Variable) (out *Variable, err error) {
	var axis *transform.Axis
	for i := len(c.tracings) - 1; i >= 0 && axis == nil; i-- {
		if a := c.tracings[i].axis; a != nil && a.Name == name {
			axis = a
		}
	}
	if axis == nil {
		return nil, fmt.Errorf("axis: no function is batched along the axis %q: see the name of the axis of vmap", name)
	}
	u := x.Node().Packed()
	var made *uop.UOp
	switch operation {
	case "psum":
		made = axis.Sum(u)
	case "all_gather":
		made = axis.Gather(u)
	case "axis_index":
		made = axis.Index(u)
	case "own":
		if s := x.Node().Shape(); len(s) == 0 || !s[0].IsNum(axis.Size) {
			return nil, fmt.Errorf("x: has shape %s, expected a first axis of %d as the axis %q", u.Shape(), axis.Size, name)
		}
		made = axis.Own(u)
	default:
		return nil, fmt.Errorf("operation: %q, expected psum, all_gather, axis_index or own", operation)
	}
	return c.result(unpacked(made, operation != "axis_index" && x.Node().DType.IsComplex()), []*value{x.source()}), nil
}

// unpacked is a node of an Expr as one of a variable.
func unpacked(u *uop.UOp, complex bool) *uop.UOp {
	if complex {
		return u.Unpacked()
	}
	return u
}

// innermost is the last tracing that has begun, nil for none.
func (c *Context) innermost() *Tracing {
	if n := len(c.tracings); n > 0 {
		return c.tracings[n-1]
	}
	return nil
}

// mayWrite reports writes to what is older than a tracing.
func (c *Context) mayWrite(x *cell) error {
	if t := c.innermost(); t != nil && x.tracing != t {
		return fmt.Errorf("a tensor from outside is written while %s traces the function: return the new value instead", t.caller)
	}
	return nil
}

func (t *Tracing) valueNeeded() error {
	if !slices.Contains(t.ctx.tracings, t) {
		return hasLeft(t.caller)
	}
	return &neededValue{caller: t.caller}
}

// A tracer is what gives a function placeholders.
type tracer interface {
	valueNeeded() error // the error of asking for the value of a placeholder
}

// hasLeft is the error of asking for a value that is computed from a placeholder after the tracing.
func hasLeft(caller string) error {
	return fmt.Errorf("a value is needed after %s traces the function: a tensor has left it otherwise than as a result", caller)
}

// A neededValue is the error of asking for a value that is not known while a function is traced.
type neededValue struct {
	caller string
	size   bool // whether the size of a result depends on it
}

func (e *neededValue) Error() string {
	advice := "compute with tensors (where or cond instead of if), or pass what it depends on as a number, to jit as a static argument"
	if e.size {
		advice = "the size of the result depends on it; keep the shape (where(mask, x, 0) instead of x[mask]), or state the size"
	}
	return fmt.Sprintf("a value is needed while %s traces the function: %s", e.caller, advice)
}

// asSize rewords the error of an unknown value on which the size of a result depends.
func asSize(err error) error {
	if needed := (*neededValue)(nil); errors.As(err, &needed) {
		return &neededValue{needed.caller, true}
	}
	return err
}

// leave ends a tracing, and abandons those that began in it and have not ended.
func (t *Tracing) leave() error {
	i := slices.Index(t.ctx.tracings, t)
	if i < 0 {
		return errors.New("the tracing has ended")
	}
	inner := t.ctx.tracings[i+1:]
	t.ctx.tracings, t.ctx.noGradDepth = t.ctx.tracings[:i], t.noGrad
	for _, t := range inner {
		release(t.args)
	}
	return nil
}

// Abandon ends a tracing without an Expr.
func (t *Tracing) Abandon() {
	if t.leave() == nil {
		release(t.args)
	}
}

func release(values []*value) {
	for _, v := range values {
		v.release()
	}
}

// End ends a tracing with the results of the function.
func (t *Tracing) End(results []*Variable) (*Expr, error) {
	if err := t.leave(); err != nil {
		return nil, err
	}
	e := &Expr{ctx: t.ctx, caller: t.caller, size: t.size, axis: t.axis, from: t.args}
	t.ctx.exprs[e] = struct{}{}
	e.inputs = t.inputs
	for _, x := range t.args {
		e.inComplex = append(e.inComplex, x.node.DType.IsComplex())
	}
	for i, v := range results {
		if v.ctx != t.ctx {
			e.Drop()
			return nil, fmt.Errorf("result %d: %w", i, ErrOtherContext)
		}
		x := v.source()
		x.retain()
		u := v.Node()
		e.outputs, e.from = append(e.outputs, u.Packed()), append(e.from, x)
		e.outComplex = append(e.outComplex, u.DType.IsComplex())
	}
	return e, nil
}

// Drop releases what an Expr refers to.
func (e *Expr) Drop() {
	release(e.from)
	delete(e.ctx.exprs, e)
	e.from = nil
}

func (e *Expr) roots(mark func(*uop.UOp)) {
	for _, u := range slices.Concat(e.inputs, e.outputs) {
		mark(u)
	}
}

// Context is the context of an Expr.
func (e *Expr) Context() *Context { return e.ctx }

// Inputs and Outputs are the nodes of an Expr, for their shapes and types.
func (e *Expr) Inputs() []*uop.UOp { return e.inputs }

// Outputs are the expressions.
func (e *Expr) Outputs() []*uop.UOp { return e.outputs }

// with is another function, from what this one is computed from. inComplex and outComplex say which inputs and outputs are complex.
func (e *Expr) with(inputs, outputs []*uop.UOp, inComplex, outComplex []bool) *Expr {
	made := &Expr{
		ctx: e.ctx, caller: e.caller, inputs: inputs, outputs: outputs, inComplex: inComplex, outComplex: outComplex,
		size: e.size, axis: e.axis, from: slices.Clone(e.from),
	}
	for _, v := range made.from {
		v.retain()
	}
	e.ctx.exprs[made] = struct{}{}
	return made
}

// argument is a new input of the type and shape of a node.
func argument(u *uop.UOp, s uop.Shape) *uop.UOp { return transform.Placeholder(u, u.DType, s) }

// Apply gives the outputs for arguments of the shapes and types of the inputs. Nothing is computed.
func (e *Expr) Apply(args []*Variable) ([]*Variable, error) {
	nodes, from, err := e.operands(args, func(i int) uop.Shape { return e.inputs[i].Shape() })
	if err != nil {
		return nil, err
	}
	if nodes, err = e.at(nodes); err != nil {
		return nil, err
	}
	return e.results(nodes, from), nil
}

// Scan runs the function for each element of sequences, from their end with reverse. Its first inputs and outputs are the carry of carried
// tensors; the other inputs are elements of the sequences, whose first axis has the given length. args are the initial carry and the sequences;
// the results the carry at the end and the other outputs of all steps, stacked in the order of the sequences. Nothing is computed.
func (e *Expr) Scan(carried int, length int64, reverse bool, args []*Variable) ([]*Variable, error) {
	switch {
	case carried < 0 || carried > len(e.inputs) || carried > len(e.outputs):
		return nil, fmt.Errorf("carried: %d, expected 0 to the %d inputs and the %d outputs", carried, len(e.inputs), len(e.outputs))
	case length < 0 || length > math.MaxInt32:
		return nil, fmt.Errorf("length: %d, expected 0 to %d", length, math.MaxInt32)
	case !slices.Equal(e.inComplex[:carried], e.outComplex[:carried]):
		return nil, errors.New("a tensor of the carry is complex before a step or after it, expected one type")
	}
	nodes, from, err := e.operands(args, func(i int) uop.Shape {
		if i < carried {
			return e.inputs[i].Shape()
		}
		return append(uop.ShapeOf(length), e.inputs[i].Shape()...)
	})
	if err != nil {
		return nil, err
	}
	step := transform.Step{Carry: e.inputs[:carried:carried], Elements: e.inputs[carried:], Next: e.outputs[:carried:carried], Out: e.outputs[carried:]}
	last, kept, err := transform.Scan(step, length, reverse, nodes[:carried], nodes[carried:])
	if err != nil {
		return nil, err
	}
	return e.results(slices.Concat(last, kept), from), nil
}

// While runs the function, whose outputs are those of a step and then a condition, on the inputs as long as the condition holds. args are the
// initial carry. Nothing is computed.
func (e *Expr) While(args []*Variable) ([]*Variable, error) {
	nodes, from, err := e.operands(args, func(i int) uop.Shape { return e.inputs[i].Shape() })
	if err != nil {
		return nil, err
	}
	n := len(e.inputs)
	if len(e.outputs) == n+1 && !slices.Equal(e.inComplex, e.outComplex[:n]) {
		return nil, errors.New("a tensor of the carry is complex before a step or after it, expected one type")
	}
	if len(e.outputs) != n+1 {
		return nil, fmt.Errorf("the function has %d inputs and %d outputs, expected one output for each input, and a condition", n, len(e.outputs))
	}
	step := transform.Step{Carry: e.inputs, Next: e.outputs[:n:n]}
	last, err := transform.While(step, e.outputs[n], nodes)
	if err != nil {
		return nil, err
	}
	return e.results(last, from), nil
}

// Switch gives the outputs of one of several branches, each of which has as many. The first of args is its number, the others are operands: the
// inputs of the function in the same order. Nothing is computed.
func (e *Expr) Switch(branches int, args []*Variable) ([]*Variable, error) {
	nodes, from, err := e.operands(args, func(i int) uop.Shape { return e.inputs[i].Shape() })
	if err != nil {
		return nil, err
	}
	if len(nodes) == 0 {
		return nil, errors.New("the function has no inputs, expected the number of the branch as the first")
	}
	n := len(e.outputs) / branches
	var list [][]*uop.UOp
	for k := range branches {
		if !slices.Equal(e.outComplex[:n], e.outComplex[k*n:(k+1)*n]) {
			return nil, fmt.Errorf("a result of branch %d is complex or real unlike that of branch 0, expected one type", k)
		}
		list = append(list, e.outputs[k*n:(k+1)*n:(k+1)*n])
	}
	results, err := transform.Switch(nodes[0], list, e.inputs[1:], nodes[1:])
	if err != nil {
		return nil, err
	}
	return e.results(results, from), nil
}

// graph is the function without its context.
func (e *Expr) graph() transform.Func {
	return transform.Func{Inputs: e.inputs, Outputs: e.outputs}
}

// String is the function as text: see transform.Text.
func (e *Expr) String() string { return transform.Text(e.graph()) }

// Checkpoint gives the outputs for arguments; derivatives compute them again instead of storing what they are computed from. policy is the name
// of one of transform.Policies, or empty. Nothing is computed.
func (e *Expr) Checkpoint(policy string, args []*Variable) ([]*Variable, error) {
	return e.stated(args, nil, func(nodes []*uop.UOp) ([]*uop.UOp, error) { return transform.Checkpoint(e.graph(), policy, nodes) })
}

// CustomJVP gives the outputs for arguments, with the tangents that a function computes from the arguments and a tangent for each one of a
// floating type: one for each output of a floating type. Nothing is computed.
func (e *Expr) CustomJVP(tangent *Expr, args []*Variable) ([]*Variable, error) {
	return e.stated(args, []*Expr{tangent}, func(nodes []*uop.UOp) ([]*uop.UOp, error) {
		results, err := e.at(nodes)
		if err != nil {
			return nil, err
		}
		return transform.CustomJVP(results, nodes, tangent.graph())
	})
}

// CustomVJP gives the outputs for arguments, with gradients that backward computes from residuals and a cotangent for each output: one for each
// argument of a floating type. The outputs of forward for the arguments are the residuals, behind as many others as the function has, which are
// dropped. Nothing is computed.
func (e *Expr) CustomVJP(forward, backward *Expr, args []*Variable) ([]*Variable, error) {
	return e.stated(args, []*Expr{forward, backward}, func(nodes []*uop.UOp) ([]*uop.UOp, error) {
		results, err := e.at(nodes)
		if err != nil {
			return nil, err
		}
		if err := sameInputs(forward, e); err != nil {
			return nil, fmt.Errorf("forward: %w", err)
		}
		residuals, err := forward.at(nodes)
		if err != nil {
			return nil, err
		}
		if len(residuals) < len(results) {
			return nil, fmt.Errorf("forward: returns %d tensors, expected the %d results, and residuals", len(residuals), len(results))
		}
		return transform.CustomVJP(results, nodes, residuals[len(results):], e.cotangents(backward))
	})
}

// cotangents is the function that computes gradients from residuals and cotangents of the outputs, by the derivatives by parts of complex tensors
// instead of what users know: see conjugates.
func (e *Expr) cotangents(backward *Expr) transform.Func {
	f := backward.graph()
	if !slices.Contains(backward.inComplex, true) && !slices.Contains(backward.outComplex, true) {
		return f
	}
	first := len(f.Inputs) - len(e.outputs)
	at := map[*uop.UOp]*uop.UOp{}
	for i, u := range f.Inputs {
		if i >= first && backward.inComplex[i] {
			at[u] = conjugates([]*uop.UOp{u}, []bool{true})[0]
		}
	}
	outputs, err := transform.Substitute(f.Outputs, at)
	if err != nil {
		return f // CustomVJP reports what the function is not
	}
	return transform.Func{Inputs: f.Inputs, Outputs: conjugates(outputs, backward.outComplex)}
}

// CustomVMap gives the outputs for arguments. Where they are batched, rules compute them that the host states when Transform reports them as missing;
// host is what it makes them of. Nothing is computed.
func (e *Expr) CustomVMap(host any, args []*Variable) ([]*Variable, error) {
	if slices.Contains(e.inComplex, true) || slices.Contains(e.outComplex, true) {
		return nil, errors.New("an argument or a result is complex, expected real tensors: see real, imag and complex")
	}
	return e.stated(args, nil, func(nodes []*uop.UOp) ([]*uop.UOp, error) {
		return transform.CustomVMap(e.graph(), host, nodes, func(m *MissingRule) { e.ctx.missing = append(e.ctx.missing, m) })
	})
}

// A MissingRule is a rule for a batch that is to be stated.
type MissingRule = transform.MissingRule

// Transform makes another function of this one. Missing are then the rules for batches that it would have used if they had been stated.
func (e *Expr) Transform(f func(e *Expr) (*Expr, error)) (*Expr, error) {
	e.ctx.missing = nil
	made, err := f(e)
	e.missing, e.ctx.missing = e.ctx.missing, nil
	return made, err
}

// Missing is the first rule for a batch that the last Transform has missed and that has not been stated since, nil if there is none.
func (e *Expr) Missing() *MissingRule {
	for len(e.missing) > 0 && e.missing[0].Known() {
		e.missing = e.missing[1:]
	}
	if len(e.missing) == 0 {
		return nil
	}
	return e.missing[0]
}

// AddRule states the missing rule, which was traced by ExpressRule; batched says which of its results are. The next Transform uses it.
func (e *Expr) AddRule(rule *Expr, batched []bool) error {
	m := e.Missing()
	switch {
	case rule.ctx != e.ctx:
		return ErrOtherContext
	case m == nil:
		return errors.New("no rule is missing")
	}
	if err := m.Add(rule.graph(), batched); err != nil {
		return err
	}
	for _, v := range rule.from {
		v.retain()
		e.from = append(e.from, v)
	}
	return nil
}

func sameInputs(e, like *Expr) error {
	if len(e.inputs) != len(like.inputs) {
		return fmt.Errorf("takes %d tensors, expected %d as the function", len(e.inputs), len(like.inputs))
	}
	for i, u := range e.inputs {
		if v := like.inputs[i]; u.DType != v.DType || !u.Shape().Equal(v.Shape()) {
			return fmt.Errorf("input %d is %s of shape %s, expected %s of shape %s as of the function", i, u.DType.NumpyName(), u.Shape(), v.DType.NumpyName(), v.Shape())
		}
	}
	return nil
}

// stated gives outputs for arguments, made by a transformation of more functions.
func (e *Expr) stated(args []*Variable, more []*Expr, make func(nodes []*uop.UOp) ([]*uop.UOp, error)) ([]*Variable, error) {
	nodes, from, err := e.operands(args, func(i int) uop.Shape { return e.inputs[i].Shape() })
	if err != nil {
		return nil, err
	}
	for _, f := range more {
		if f.ctx != e.ctx {
			return nil, ErrOtherContext
		}
		from = append(from, f.from...)
	}
	if nodes, err = make(nodes); err != nil {
		return nil, err
	}
	return e.results(nodes, from), nil
}

// at are the outputs for the nodes of arguments.
func (e *Expr) at(nodes []*uop.UOp) ([]*uop.UOp, error) {
	at := map[*uop.UOp]*uop.UOp{}
	for i, in := range e.inputs {
		at[in] = nodes[i]
	}
	return transform.Substitute(e.outputs, at)
}

// typeText is the type and shape of a node of an Expr, as users know them.
func typeText(dt *uop.DType, s uop.Shape, complex bool) string {
	if complex {
		dt, s = uop.ComplexOf(dt), s[:len(s)-1]
	}
	return fmt.Sprintf("%s of shape %s", dt.NumpyName(), s)
}

// operands are the nodes of arguments of the types of the inputs and given shapes, and what results are computed from.
func (e *Expr) operands(args []*Variable, shape func(i int) uop.Shape) (nodes []*uop.UOp, from []*value, err error) {
	if len(args) != len(e.inputs) {
		return nil, nil, fmt.Errorf("%d arguments, expected %d", len(args), len(e.inputs))
	}
	for i, v := range args {
		if v.ctx != e.ctx {
			return nil, nil, fmt.Errorf("argument %d: %w", i, ErrOtherContext)
		}
		u, in := v.Node().Packed(), e.inputs[i]
		if want := shape(i); u.DType != in.DType || !u.Shape().Equal(want) || v.Node().DType.IsComplex() != e.inComplex[i] {
			return nil, nil, fmt.Errorf("argument %d is %s, expected %s", i, typeText(u.DType, u.Shape(), v.Node().DType.IsComplex()), typeText(in.DType, want, e.inComplex[i]))
		}
		nodes, from = append(nodes, u), append(from, v.source())
	}
	return nodes, append(from, e.from...), nil
}

// results are variables of the nodes of outputs, computed from values.
func (e *Expr) results(nodes []*uop.UOp, from []*value) []*Variable {
	out := make([]*Variable, len(nodes))
	for i, u := range nodes {
		out[i] = e.ctx.result(unpacked(u, e.outComplex[i]), from)
	}
	return out
}

// floating checks that inputs are of floating types.
func (e *Expr) floating(of []int) error {
	for _, i := range of {
		if i < 0 || i >= len(e.inputs) {
			return fmt.Errorf("input %d, expected 0 to %d", i, len(e.inputs)-1)
		}
		if dt := e.inputs[i].DType; !dt.IsFloat() {
			return fmt.Errorf("argument %d is %s, expected a floating type: %s differentiates by it", i, dt.NumpyName(), e.caller)
		}
	}
	return nil
}

func (e *Expr) chosen(of []int) []*uop.UOp { return chosenOf(e.inputs, of) }

func chosenOf[T any](all []T, of []int) []T {
	out := make([]T, len(of))
	for k, i := range of {
		out[k] = all[i]
	}
	return out
}

// conjugates are packed tensors with the conjugates of complex ones. A gradient by a complex tensor is the derivative by the real part less i
// times that by the imaginary one, and cotangents of complex outputs are of that kind, as in JAX.
func conjugates(packed []*uop.UOp, complex []bool) []*uop.UOp {
	out := slices.Clone(packed)
	for i, u := range packed {
		if complex[i] {
			out[i] = tensor.Conjugated(u.Unpacked()).Packed()
		}
	}
	return out
}

// differentiable is an error for complex tensors among inputs and outputs that a derivative does not have. A holomorphic one has no others.
func (e *Expr) differentiable(of []int, holomorphic, complexInputs, complexOutputs bool) error {
	if err := e.floating(of); err != nil {
		return err
	}
	in, out := chosenOf(e.inComplex, of), e.outComplex
	switch {
	case holomorphic && slices.Contains(slices.Concat(in, out), false):
		return fmt.Errorf("an argument or a result is real, expected complex ones where holomorphic is given")
	case !holomorphic && (!complexInputs && slices.Contains(in, true) || !complexOutputs && slices.Contains(out, true)):
		return fmt.Errorf("an argument or a result is complex: %s is of real functions unless holomorphic is given, see vjp and jvp", e.caller)
	}
	return nil
}

// orZero is a node, or zeros like another one for nil.
func orZero(u, like *uop.UOp) *uop.UOp {
	if u == nil {
		return like.ConstLike(uop.Int(0))
	}
	return u
}

// JVP is the function of the inputs, and a tangent for each of some, that gives the outputs and then the tangent of each (forward mode).
// The tangents of integers and bools are zeros.
func (e *Expr) JVP(of []int) (*Expr, error) {
	if err := e.floating(of); err != nil {
		return nil, err
	}
	wrt := e.chosen(of)
	tangents := make([]*uop.UOp, len(wrt))
	for i, u := range wrt {
		tangents[i] = argument(u, u.Shape())
	}
	found, err := transform.JVP(e.outputs, wrt, tangents)
	if err != nil {
		return nil, err
	}
	for i, u := range e.outputs {
		found[i] = orZero(found[i], u)
	}
	return e.with(slices.Concat(e.inputs, tangents), slices.Concat(e.outputs, found),
		slices.Concat(e.inComplex, chosenOf(e.inComplex, of)), slices.Concat(e.outComplex, e.outComplex)), nil
}

// VJP is the function of the inputs, and of one cotangent for each output, that gives the gradients by some inputs (reverse mode): of the
// sum of all outputs times their cotangents.
func (e *Expr) VJP(of []int) (*Expr, error) {
	if err := e.floating(of); err != nil {
		return nil, err
	}
	cotangents := make([]*uop.UOp, len(e.outputs))
	for i, u := range e.outputs {
		cotangents[i] = argument(u, u.Shape())
	}
	grads, err := pullback(e.outputs, e.chosen(of), conjugates(cotangents, e.outComplex))
	if err != nil {
		return nil, err
	}
	by := chosenOf(e.inComplex, of)
	return e.with(slices.Concat(e.inputs, cotangents), conjugates(grads, by), slices.Concat(e.inComplex, e.outComplex), by), nil
}

// Transpose is the VJP of a function that is linear in some inputs: its gradients do not depend on them. Functions with loops are not
// checked: loops may keep values that no gradient needs.
func (e *Expr) Transpose(of []int) (*Expr, error) {
	made, err := e.VJP(of)
	if err != nil {
		return nil, err
	}
	inputs := e.chosen(of)
	for _, u := range made.outputs {
		if u.HasOp(uop.Ops(uop.Repeat)) {
			continue
		}
		for _, v := range u.Toposort() {
			if k := slices.Index(inputs, v); k >= 0 {
				made.Drop()
				return nil, fmt.Errorf("the function is not linear in argument %d: its gradients depend on it; use vjp", of[k])
			}
		}
	}
	return made, nil
}

// pullback are gradients by reverse mode; outputs of other types than floats have none.
func pullback(outputs, wrt, cotangents []*uop.UOp) ([]*uop.UOp, error) {
	var losses, seeds []*uop.UOp
	for i, u := range outputs {
		if u.DType.IsFloat() {
			losses, seeds = append(losses, u), append(seeds, cotangents[i])
		}
	}
	if len(losses) == 0 {
		grads := make([]*uop.UOp, len(wrt))
		for i, u := range wrt {
			grads[i] = orZero(nil, u)
		}
		return grads, nil
	}
	return gradient.OfSeveral(losses, wrt, seeds)
}

// Grad is the function of the inputs that gives the gradients of the first output, a scalar of a floating type, by some inputs, and then
// all outputs.
func (e *Expr) Grad(of []int) (*Expr, error) { return e.grad(of, false) }

// HolomorphicGrad is Grad for a complex scalar, a holomorphic function of complex inputs: its derivatives by them.
func (e *Expr) HolomorphicGrad(of []int) (*Expr, error) { return e.grad(of, true) }

func (e *Expr) grad(of []int, holomorphic bool) (*Expr, error) {
	if err := e.floating(of); err != nil {
		return nil, err
	}
	if len(e.outputs) == 0 {
		return nil, errors.New("the function returns no tensor, expected a loss")
	}
	loss := e.outputs[0]
	by := chosenOf(e.inComplex, of)
	isScalar := rank(loss, e.outComplex[0]) == 0 && loss.DType.IsFloat()
	var seed *uop.UOp
	switch {
	case holomorphic && (!isScalar || !e.outComplex[0] || slices.Contains(by, false)):
		return nil, fmt.Errorf("the function returns %s, expected a complex scalar of complex arguments where holomorphic is given", typeText(loss.DType, loss.Shape(), e.outComplex[0]))
	case holomorphic:
		one, err := basis(loss, 1, true)
		if err != nil {
			return nil, err
		}
		seed = one.Node.Reshape(loss.Shape())
	case !isScalar || e.outComplex[0]:
		return nil, fmt.Errorf("the function returns %s, expected a loss: a scalar of a floating type (see sum and mean)", typeText(loss.DType, loss.Shape(), e.outComplex[0]))
	}
	grads, err := gradient.Of(loss, e.chosen(of), seed)
	if err != nil {
		return nil, err
	}
	return e.with(e.inputs, slices.Concat(conjugates(grads, by), e.outputs), e.inComplex, slices.Concat(by, e.outComplex)), nil
}

// elements is the number of elements of a node, and its shape without the axis of the planes of complex numbers.
func (e *Expr) elements(u *uop.UOp, complex bool) (int64, uop.Shape, error) {
	if _, fixed := u.Shape().Ints(); !fixed {
		return 0, nil, fmt.Errorf("a shape is %s, expected numbers: %s has a row for every element", u.Shape(), e.caller)
	}
	s := u.Shape()[:rank(u, complex)]
	return s.MaxNumel(), s, nil
}

// basis are the n tensors like another one that have one 1 each, as a batch.
func basis(like *uop.UOp, n int64, complex bool) (transform.Batched, error) {
	ones, err := tensor.Eye(like.Graph(), n, n, like.DType)
	if err != nil {
		return transform.Batched{}, err
	}
	if complex { // the imaginary planes are 0
		if ones, err = tensor.Reshape(ones, uop.ShapeOf(n*n, 1)); err == nil {
			ones, err = tensor.Pad(ones, []uop.Pair{{Lo: uop.N(0), Hi: uop.N(0)}, {Lo: uop.N(0), Hi: uop.N(1)}}, uop.Int(0))
		}
		if err != nil {
			return transform.Batched{}, err
		}
	}
	node, err := tensor.Reshape(ones, append(uop.Shape{uop.N(n)}, like.Shape()...))
	return transform.Batched{Node: node, Mapped: true}, err
}

// withPlanes is the shape of a tensor with the axis of the planes of complex numbers.
func withPlanes(s uop.Shape, complex bool) uop.Shape {
	if complex {
		return append(slices.Clone(s), uop.N(2))
	}
	return s
}

// JacFwd is the function of the inputs that gives, for each output and each of some inputs, which are real, the Jacobian, of the shape of the
// output followed by that of the input: in forward mode, a tangent for each element of the input at once.
func (e *Expr) JacFwd(of []int) (*Expr, error) { return e.jacFwd(of, false) }

// HolomorphicJacFwd is JacFwd of a holomorphic function of complex inputs.
func (e *Expr) HolomorphicJacFwd(of []int) (*Expr, error) { return e.jacFwd(of, true) }

func (e *Expr) jacFwd(of []int, holomorphic bool) (*Expr, error) {
	if err := e.differentiable(of, holomorphic, false, true); err != nil {
		return nil, err
	}
	all := make([][]*uop.UOp, len(of))
	for k, u := range e.chosen(of) {
		n, shape, err := e.elements(u, holomorphic)
		if err != nil {
			return nil, err
		}
		t := argument(u, u.Shape())
		found, err := transform.JVP(e.outputs, []*uop.UOp{u}, []*uop.UOp{t})
		if err != nil {
			return nil, err
		}
		for i, out := range e.outputs {
			found[i] = orZero(found[i], out)
		}
		ones, err := basis(u, n, holomorphic)
		if err != nil {
			return nil, err
		}
		columns, err := transform.Batch(found, map[*uop.UOp]transform.Batched{t: ones}, uop.N(n))
		if err != nil {
			return nil, err
		}
		for i, c := range columns {
			isComplex := e.outComplex[i]
			r := rank(e.outputs[i], isComplex)
			m := moveAxis(c.Whole(uop.N(n)), 0, r)
			all[k] = append(all[k], m.Reshape(withPlanes(slices.Concat(m.Shape()[:r], shape), isComplex)))
		}
	}
	var outputs []*uop.UOp
	var areComplex []bool
	for i := range e.outputs {
		for k := range of {
			outputs, areComplex = append(outputs, all[k][i]), append(areComplex, e.outComplex[i])
		}
	}
	return e.with(e.inputs, outputs, e.inComplex, areComplex), nil
}

// JacRev is JacFwd in reverse mode: a cotangent for each element of an output, which are real, at once.
func (e *Expr) JacRev(of []int) (*Expr, error) { return e.jacRev(of, false) }

// HolomorphicJacRev is JacRev of a holomorphic function of complex inputs.
func (e *Expr) HolomorphicJacRev(of []int) (*Expr, error) { return e.jacRev(of, true) }

func (e *Expr) jacRev(of []int, holomorphic bool) (*Expr, error) {
	if err := e.differentiable(of, holomorphic, true, false); err != nil {
		return nil, err
	}
	wrt, by := e.chosen(of), chosenOf(e.inComplex, of)
	var outputs []*uop.UOp
	var areComplex []bool
	for _, u := range e.outputs {
		n, shape, err := e.elements(u, holomorphic)
		if err != nil {
			return nil, err
		}
		t := argument(u, u.Shape())
		grads, err := pullback([]*uop.UOp{u}, wrt, []*uop.UOp{t})
		if err != nil {
			return nil, err
		}
		ones, err := basis(u, n, holomorphic)
		if err != nil {
			return nil, err
		}
		rows, err := transform.Batch(conjugates(grads, by), map[*uop.UOp]transform.Batched{t: ones}, uop.N(n))
		if err != nil {
			return nil, err
		}
		for k, r := range rows {
			outputs = append(outputs, r.Whole(uop.N(n)).Reshape(slices.Concat(shape, wrt[k].Shape())))
		}
		areComplex = append(areComplex, by...)
	}
	return e.with(e.inputs, outputs, e.inComplex, areComplex), nil
}

// Select is the function that gives some of the outputs.
func (e *Expr) Select(outputs []int) (*Expr, error) {
	var kept []*uop.UOp
	for _, i := range outputs {
		if i < 0 || i >= len(e.outputs) {
			return nil, fmt.Errorf("output %d, expected 0 to %d", i, len(e.outputs)-1)
		}
		kept = append(kept, e.outputs[i])
	}
	return e.with(e.inputs, kept, e.inComplex, chosenOf(e.outComplex, outputs)), nil
}

// Batch is the function for all elements of a batch: input i has the batch as axis in[i], output i as axis out[i]; Unmapped inputs are the
// same for all elements, Unmapped outputs must be. The size is that of the axes that the function was traced without, if there are any.
func (e *Expr) Batch(size int64, in, out []int) (*Expr, error) {
	if traced := e.size; traced != noBatch {
		if size >= 0 && !traced.IsNum(size) {
			return nil, fmt.Errorf("a batch of %d, expected %s as the arguments have", size, traced)
		}
		return e.batch(traced, in, out)
	}
	if size < 0 {
		return nil, errors.New("no argument is mapped, expected an axis for one or more, or the size of the batch")
	}
	return e.batch(uop.N(size), in, out)
}

// rank is the number of axes of a node of an Expr, as users know them.
func rank(u *uop.UOp, complex bool) int {
	if complex {
		return len(u.Shape()) - 1
	}
	return len(u.Shape())
}

func (e *Expr) batch(size uop.Sint, in, out []int) (*Expr, error) {
	if len(in) != len(e.inputs) || len(out) != len(e.outputs) {
		return nil, fmt.Errorf("%d and %d axes, expected one for each of %d inputs and %d outputs", len(in), len(out), len(e.inputs), len(e.outputs))
	}
	inputs, at := slices.Clone(e.inputs), map[*uop.UOp]transform.Batched{}
	for i, u := range e.inputs {
		if in[i] == Unmapped {
			continue
		}
		if n := rank(u, e.inComplex[i]); in[i] < 0 || in[i] > n {
			return nil, fmt.Errorf("in_axes: %d for argument %d, expected 0 to %d", in[i], i, n)
		}
		inputs[i] = argument(u, slices.Insert(slices.Clone(u.Shape()), in[i], size))
		at[u] = transform.Batched{Node: moveAxis(inputs[i], in[i], 0), Mapped: true}
	}
	if e.axis != nil && !size.IsNum(e.axis.Size) {
		return nil, fmt.Errorf("a batch of %s, expected %d as the axis %q", size, e.axis.Size, e.axis.Name)
	}
	found, err := transform.BatchAlong(e.axis, e.outputs, at, size)
	if err != nil {
		return nil, err
	}
	outputs := make([]*uop.UOp, len(found))
	for i, v := range found {
		switch {
		case out[i] == Unmapped && v.Mapped:
			return nil, fmt.Errorf("out_axes: none for result %d, which differs among the elements of the batch", i)
		case out[i] == Unmapped:
			outputs[i] = v.Node
		case out[i] < 0 || out[i] > rank(e.outputs[i], e.outComplex[i]):
			return nil, fmt.Errorf("out_axes: %d for result %d of shape %s, expected 0 to %d", out[i], i, e.outputs[i].Shape()[:rank(e.outputs[i], e.outComplex[i])], rank(e.outputs[i], e.outComplex[i]))
		default:
			outputs[i] = moveAxis(v.Whole(size), 0, out[i])
		}
	}
	return e.with(inputs, outputs, e.inComplex, e.outComplex), nil
}

// moveAxis moves an axis to another place.
func moveAxis(u *uop.UOp, from, to int) *uop.UOp {
	order := make([]int, len(u.Shape()))
	for i := range order {
		order[i] = i
	}
	return u.Permute(slices.Insert(slices.Delete(order, from, from+1), to, from))
}
