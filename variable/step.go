package variable

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"polygrad/core/rewrite"
	"polygrad/core/schedule"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
)

// A Step is a function of variables, compiled into one program.
type Step struct {
	ctx  *Context
	step *exec.Step
	sink *uop.UOp
	// bound is the program on the memory of the last run, binds.
	bound *exec.Bound
	binds []exec.Binding
	made  []*memory
	// inputs are the placeholders of the arguments.
	inputs []*value
	// outputs are the results, followed by the stored gradients.
	outputs []output
	results int
	changes []change
	grads   []*stepGrad
	// locations says whose memory each buffer of the program is.
	locations    []location
	seeds        []seed
	retained     []*Variable // what the program works on
	prune, fixed bool
	// symbolic: the shape of an argument has variables.
	symbolic bool
	created  map[*cell]bool // the cells that the function made
	device   string         // that it runs on, "" for that of the context
	executor *exec.Executor // of the device when it was compiled
}

// An output is a result of a step: computed into new memory for leaf, the argument number input or a view of it, or an existing variable.
type output struct {
	leaf     *value
	input    int
	variable *Variable
	// view is a view of the argument, nil for the argument itself.
	view *Variable
}

// A location is the owner of a buffer's memory at each run: a tensor, a gradient, an argument or an output.
type location struct {
	tensor *Variable
	grad   *stepGrad
	input  int
	output int
}

// Drop releases the variables of a step.
func (s *Step) Drop() {
	for _, v := range s.retained {
		v.Drop()
	}
	s.retained = nil
}

// newVariable makes a variable on a cell, which keeps it alive.
func (x *cell) newVariable(c *Context) *Variable {
	v := &Variable{ctx: c, cell: x, refs: 1}
	x.variables = append(x.variables, v)
	return v
}

// build compiles the recorded writes and results into one program.
func (s *Step) build(results []*Variable, nodes []*value, given []*Variable, used map[*uop.UOp]*cell) error {
	c := s.ctx
	if err := s.place(nodes, used); err != nil {
		return err
	}
	var stores, assigns []*uop.UOp
	outs := map[*uop.UOp]int{}
	for i, r := range results {
		v := nodes[i]
		o := output{input: -1}
		for k, g := range given {
			if r.cell == g.cell {
				o.input = k
				if r != g {
					o.view = r.Retain()
					s.retained = append(s.retained, r)
				}
			}
		}
		switch {
		case o.input >= 0:
		case !s.created[r.cell]:
			o.variable = r.Retain()
			s.retained = append(s.retained, r)
		case s.fixed && i < s.results:
			ch, err := s.newResult(v)
			if err != nil {
				return err
			}
			o.variable = ch.ref
		default:
			leaf, err := c.newLeaf(v.node.DType, v.node.Shape(), nil)
			if err != nil {
				return err
			}
			o.leaf = leaf
			s.retained = append(s.retained, c.variable(leaf))
			outs[leaf.node.Storage()] = i
			if tensor.Elements(v.node) > 0 {
				store, err := tensor.Store(leaf.node, v.node)
				if err != nil {
					return err
				}
				stores = append(stores, store)
			}
		}
		s.outputs = append(s.outputs, o)
	}
	s.created = nil
	for _, ch := range s.changes {
		if !ch.before.leaf {
			return errNotComputed
		}
		if tensor.Elements(ch.after.node) == 0 {
			continue
		}
		assign, err := tensor.AssignTo(ch.before.node, ch.after.node)
		if err != nil {
			return err
		}
		assigns = append(assigns, assign)
	}
	if len(s.outputs)+len(s.changes) == 0 {
		return errors.New("the function computes nothing: it returns and writes no tensor")
	}
	sink := c.Graph.Sink(nil, append(stores, schedule.Simultaneous(assigns)...)...)
	if s.prune {
		var err error
		if sink, err = s.computeInvariants(sink); err != nil {
			return err
		}
	}
	e, err := c.executor(s.device)
	if err != nil {
		return err
	}
	s.executor = e
	step, err := e.Compile(sink)
	if err != nil {
		return err
	}
	for _, in := range s.inputs {
		if _, fixed := in.node.Shape().Ints(); !fixed {
			s.symbolic = true
		}
	}
	s.step, s.sink, s.binds = step, sink, make([]exec.Binding, len(step.Buffers()))
	for _, b := range step.Buffers() {
		p, err := s.locate(b, outs, used)
		if err != nil {
			return err
		}
		s.locations = append(s.locations, p)
	}
	return nil
}

// place finds the device of the program: that of the arguments, of the tensors that it reads and writes, and of the results.
func (s *Step) place(results []*value, used map[*uop.UOp]*cell) (err error) {
	values := append(slices.Clone(s.inputs), results...)
	for _, x := range used {
		values = append(values, x.value)
	}
	for _, ch := range s.changes {
		values = append(values, ch.before, ch.after)
	}
	s.device, err = s.ctx.oneDevice(values...)
	return err
}

// newResult makes a variable that each run writes a result to.
func (s *Step) newResult(v *value) (change, error) {
	c := s.ctx
	made, err := c.fill(v.node.DType, v.node.Shape(), s.device, func(b []byte) error { clear(b); return nil })
	if err != nil {
		return change{}, err
	}
	made.cell.value.device = s.device
	ch := change{made.cell, made, made.cell.value, v}
	ch.before.retain()
	ch.after.retain()
	s.changes = append(s.changes, ch)
	return ch, nil
}

// computeInvariants computes the parts of a program that do not change between runs, and replaces them by the results.
func (s *Step) computeInvariants(sink *uop.UOp) (*uop.UOp, error) {
	c := s.ctx
	var changing []*uop.UOp
	for _, in := range s.inputs {
		changing = append(changing, in.node.Storage())
	}
	for _, sd := range s.seeds {
		changing = append(changing, sd.leaf.node.Storage())
	}
	for _, g := range s.grads {
		if g.read != nil {
			changing = append(changing, g.read.node.Storage())
		}
	}
	var parts []*Variable
	nodes := schedule.RunInvariant(sink, changing)
	for _, u := range nodes {
		part := c.FromNode(u)
		part.cell.value.device = s.device
		parts = append(parts, part)
	}
	s.retained = append(s.retained, parts...)
	if err := c.Realize(parts...); err != nil {
		return nil, err
	}
	known := rewrite.Map{}
	for i, u := range nodes {
		known[u] = parts[i].Node()
	}
	return rewrite.Substitute(sink, known), nil
}

// locate finds the owner of a buffer of the program.
func (s *Step) locate(b *uop.UOp, outs map[*uop.UOp]int, used map[*uop.UOp]*cell) (location, error) {
	p := location{input: -1, output: -1}
	if i, ok := outs[b]; ok {
		p.output = i
		return p, nil
	}
	for i, in := range s.inputs {
		if in.node.Storage() == b {
			p.input = i
			return p, nil
		}
	}
	for _, g := range s.grads {
		if g.read != nil && g.read.node.Storage() == b {
			p.grad = g
			return p, nil
		}
	}
	for v := s.ctx.values.next; v != &s.ctx.values; v = v.next {
		if !v.leaf || v.node.Storage() != b {
			continue
		}
		if v.mem == nil {
			return p, errors.New("a tensor that it reads has left another traced function otherwise than as a result")
		}
		switch x := used[b]; {
		case x != nil && x.value == v:
			p.tensor = x.newVariable(s.ctx)
		case len(v.cells) > 0:
			p.tensor = v.cells[0].newVariable(s.ctx)
		default:
			p.tensor = s.ctx.variable(v)
		}
		s.retained = append(s.retained, p.tensor)
		return p, nil
	}
	return p, errors.New("a tensor that it reads was overwritten since")
}

// Retained are the variables of the step; to drop them is to drop the step.
func (s *Step) Retained() []*Variable { return s.retained }

// Context is the context of the step.
func (s *Step) Context() *Context { return s.ctx }

// Run runs the program on arguments of the shapes and types that it was compiled for. values bind the size variables that do not occur
// in the shapes of the arguments.
func (s *Step) Run(args []*Variable, values map[string]int64) ([]*Variable, error) {
	if len(args) != len(s.inputs) {
		return nil, fmt.Errorf("%d arguments, expected %d", len(args), len(s.inputs))
	}
	c := s.ctx
	if c.trace != nil {
		return nil, fmt.Errorf("a compiled function is called inside of %s, which is being traced", c.trace.caller)
	}
	if err := eachOnce(args); err != nil {
		return nil, err
	}
	sizes := values
	if s.symbolic {
		sizes = map[string]int64{}
		maps.Copy(sizes, values)
	}
	for i, v := range args {
		if v.ctx != c {
			return nil, fmt.Errorf("argument %d %w", i, ErrOtherContext)
		}
		have, want := v.Node(), s.inputs[i].node
		same, err := sameShape(have.Shape(), want.Shape(), sizes)
		if err != nil {
			return nil, fmt.Errorf("argument %d: %w", i, err)
		}
		if have.DType != want.DType || !same {
			return nil, fmt.Errorf("argument %d is %s, expected %s", i, describe(have), describe(want))
		}
		if device := v.cell.value.device; !s.runsOn(device) {
			return nil, fmt.Errorf("argument %d is on the device %s, expected %s, for which the function is compiled: move it, see to()", i, device, s.deviceName())
		}
	}
	c.waitJobs()
	if err := c.Realize(args...); err != nil {
		return nil, err
	}
	for _, sd := range s.seeds {
		if err := c.fillSeed(sd.leaf.mem, sd.words); err != nil {
			return nil, err
		}
	}
	for _, ch := range s.changes {
		x, err := s.writtenCell(ch, args)
		if err == nil && !x.exclusive() {
			err = x.renewLeaf(c)
		}
		if err != nil {
			return nil, err
		}
	}
	out, err := s.launch(args, sizes)
	if err != nil {
		return nil, err
	}
	for _, ch := range s.changes { // what was put on no device before is with what it was computed from
		if x, err := s.writtenCell(ch, args); err == nil {
			if x.value.device == "" {
				x.value.device = s.device
			}
		}
	}
	stored := out[s.results:]
	for _, g := range s.grads {
		switch {
		case g.removed:
			g.variable(args).SetGrad(nil)
		case !g.unchanged:
			if v := g.variable(args); v.grad != nil && !g.zeroed && !v.grad.IsView() { // other references to the gradient see the sum
				v.grad.cell.set(stored[0].cell.value)
				stored[0].Drop()
			} else {
				v.SetGrad(stored[0])
			}
			stored = stored[1:]
		}
	}
	return out[:s.results], nil
}

// runsOn reports whether the step uses what is on a device, "" for none, as it is: it was compiled for the device.
func (s *Step) runsOn(device string) bool {
	if device == "" || device == s.device {
		return true
	}
	e, err := s.ctx.executor(device)
	return err == nil && e == s.executor
}

// deviceName is the device of the step for errors.
func (s *Step) deviceName() string {
	if s.device == "" {
		return "one on that of the context"
	}
	return s.device
}

// variable is the variable of a gradient in a run.
func (g *stepGrad) variable(args []*Variable) *Variable {
	if g.input >= 0 {
		return args[g.input]
	}
	return g.owner
}

// sameShape reports whether shapes are equal up to the values bound to variables, and adds those bound in have to values.
func sameShape(have, want uop.Shape, values map[string]int64) (bool, error) {
	if len(have) != len(want) {
		return false, nil
	}
	for i, d := range have {
		if tensor.Unbound(d) != tensor.Unbound(want[i]) {
			return false, nil
		}
		for _, b := range tensor.SizeVariables(d) {
			name := b.Variable.Arg.(uop.VarArg).Name
			if !b.Bound {
				return false, fmt.Errorf("the variable %s has no value", name)
			}
			if n, known := values[name]; known && n != b.Value {
				return false, fmt.Errorf("the variable %s is both %d and %d", name, n, b.Value)
			}
			values[name] = b.Value
		}
	}
	return true, nil
}

// describe is the type and the shape of a tensor, without the values of variables.
func describe(u *uop.UOp) string {
	var sizes []string
	for _, d := range u.Shape() {
		sizes = append(sizes, tensor.SizeString(tensor.Unbound(d)))
	}
	return fmt.Sprintf("%s of shape [%s]", u.DType.NumpyName(), strings.Join(sizes, ","))
}

// writtenCell is the cell that a change writes in this run: that of an argument, or of an older tensor.
func (s *Step) writtenCell(ch change, vars []*Variable) (*cell, error) {
	for i, in := range s.inputs {
		if in == ch.before {
			if vars[i].IsView() {
				return nil, fmt.Errorf("argument %d is a view, expected a tensor with memory of its own: the function writes it", i)
			}
			return vars[i].cell, nil
		}
	}
	return ch.cell, nil
}

// exclusive reports whether the node of the leaf has no other readers, so that it may be written without renaming.
func (x *cell) exclusive() bool {
	v := x.value
	return v.leaf && v.mem != nil && !v.exported && v.refs == 1 && v.origin == nil && v.lazyNode == nil
}

// renewLeaf prepares a cell for a write to its memory: other readers get a copy of it, and the leaf a new node, since nodes denote the
// same elements forever.
func (x *cell) renewLeaf(c *Context) error {
	old := x.value
	if !old.leaf {
		return errNotComputed
	}
	m := old.mem
	if old.refs > 1 {
		copied, err := c.allocate(m.size, old.device)
		if err != nil {
			return err
		}
		if err := copied.copyFrom(m); err != nil {
			copied.free()
			return err
		}
		if m.stays() {
			old.mem = copied
			c.bind(old)
		} else {
			m = copied
		}
	} else {
		c.forgetComputed(old)
		c.unbind(old)
		old.mem = nil
	}
	fresh, err := c.newLeaf(old.node.DType, old.node.Shape(), m)
	if err != nil {
		return err
	}
	fresh.flow, fresh.device = old.flow, old.device
	if old.origin != nil {
		fresh.flow = flowUnset
	}
	x.set(fresh)
	return nil
}

// launch runs the program on the current memory of its buffers.
func (s *Step) launch(args []*Variable, sizes map[string]int64) (out []*Variable, err error) {
	c := s.ctx
	made := s.made[:0]
	for range s.outputs {
		made = append(made, nil)
	}
	s.made = made
	defer func() {
		if err != nil {
			for _, m := range made {
				if m != nil {
					m.free()
				}
			}
		}
	}()
	for i, o := range s.outputs {
		if o.leaf == nil {
			continue
		}
		if made[i], err = c.allocate(sizeOf(tensor.Elements(o.leaf.node), o.leaf.node.DType), s.device); err != nil {
			return nil, err
		}
	}
	moved := false
	var copies []*memory
	defer func() {
		for _, m := range copies {
			m.free()
		}
	}()
	for i, b := range s.step.Buffers() {
		m, p := (*memory)(nil), s.locations[i]
		switch {
		case p.grad != nil:
			var own bool
			if m, own, err = p.grad.memory(args); err != nil {
				return nil, err
			}
			if own {
				copies = append(copies, m)
			}
		case p.output >= 0:
			m = made[p.output]
		case p.input >= 0:
			v := args[p.input]
			if m = v.cell.value.mem; v.IsView() {
				if m, err = c.compute(v.Node(), v.cell.value.device); err != nil {
					return nil, err
				}
				copies = append(copies, m)
			}
		default:
			if err = c.Realize(p.tensor); err != nil {
				return nil, err
			}
			m = p.tensor.cell.value.mem
		}
		now, err := m.binding(b, s.step.OwnMemory())
		if err != nil {
			return nil, err
		}
		if s.binds[i] != now {
			s.binds[i], moved = now, true
		}
	}
	switch {
	case moved:
		s.bound = nil
		err = s.step.Run(s.binds, sizes)
	case s.bound == nil:
		if s.bound, err = s.step.Bind(s.binds); err == nil {
			err = s.bound.Run(sizes)
		}
	default:
		err = s.bound.Run(sizes)
	}
	if err != nil {
		return nil, err
	}
	for i, o := range s.outputs {
		switch {
		case o.variable != nil:
			out = append(out, o.variable.Retain())
			continue
		case o.leaf == nil:
			v := args[o.input]
			if o.view != nil {
				shown := v.newView(moveView(o.view.Node(), o.view.cell.value.node, v.Node()))
				shown.detached = o.view.detached || v.detached
				out = append(out, shown)
				continue
			}
			out = append(out, v.Retain())
			continue
		}
		shape := slices.Clone(o.leaf.node.Shape())
		for k, d := range shape {
			shape[k] = tensor.SizeWith(d, sizes)
		}
		leaf, err := c.newLeaf(o.leaf.node.DType, shape, made[i])
		if err != nil {
			return nil, err
		}
		leaf.flow, leaf.device = flowNever, s.device
		out = append(out, c.variable(leaf))
	}
	return out, nil
}

// Rerunnable returns the bound program if a run without arguments only runs it; valid until Context.OnInvalidate is called. Otherwise
// it returns nil.
func (s *Step) Rerunnable() *exec.Bound {
	if s.bound == nil || len(s.inputs)+len(s.seeds)+len(s.ctx.jobs) > 0 || s.ctx.trace != nil {
		return nil
	}
	for _, o := range s.outputs {
		if o.variable == nil {
			return nil
		}
	}
	for _, ch := range s.changes {
		if !ch.cell.exclusive() {
			return nil
		}
	}
	for _, g := range s.grads {
		if !g.removed || g.owner.grad != nil {
			return nil
		}
	}
	for i, p := range s.locations {
		if p.grad != nil {
			return nil
		}
		v := p.tensor.cell.value
		if !v.leaf || v.mem == nil || v.mem.data != s.binds[i].Ptr || v.mem.array != s.binds[i].Array {
			return nil
		}
	}
	for _, p := range s.locations {
		p.tensor.cell.value.addressUsed = true
	}
	return s.bound
}

// Result is the variable that each run writes result i to; nil if each run makes a new one.
func (s *Step) Result(i int) *Variable { return s.outputs[i].variable }

// Sink is the program of the step.
func (s *Step) Sink() *uop.UOp { return s.sink }

// memory is the memory of the gradient before a run; the caller frees it if own is set.
func (g *stepGrad) memory(args []*Variable) (m *memory, own bool, err error) {
	now, node := g.variable(args).grad, g.read.node
	if now == nil {
		if m, err = allocate(sizeOf(tensor.Elements(node), node.DType)); err == nil {
			var b []byte
			b, err = m.change()
			clear(b)
		}
		return m, true, err
	}
	if err = now.ctx.Realize(now); err != nil {
		return nil, false, err
	}
	if now.IsView() {
		m, err = now.ctx.compute(now.Node(), now.cell.value.device)
		return m, true, err
	}
	return now.cell.value.mem, false, nil
}

// Results is the number of results of a run.
func (s *Step) Results() int { return s.results }

// Kernels is the number of kernels of a run.
func (s *Step) Kernels() int { return s.step.Kernels() }

// Temporaries is the number of buffers between the kernels.
func (s *Step) Temporaries() int { return s.step.Temporaries() }

// Memory is the number of bytes that these buffers take at once.
func (s *Step) Memory() int64 { return s.step.Memory() }
