package polygrad

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"polygrad/core/schedule"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
)

// A Step is a function of tensors, compiled into one program: forward and backward passes and the update of an optimizer, as the
// function has them. See Compile.
type Step struct {
	ctx  *Context
	step *exec.Step
	// inputs are the leaves that stand for the arguments.
	inputs  []*value
	outputs []output
	changes []change
	// where says whose memory each buffer of the program is.
	where []place
	seeds []seed
	keep  []*variable // what the program works on
}

// An output is a result of a step: computed, into what its leaf stands for, or an argument.
type output struct {
	leaf  *value
	input int
}

// A place is where a step finds the memory of a buffer: in a tensor, which may be written between runs, in an argument, or in a result.
type place struct {
	tensor *variable
	input  int
	output int
}

// Compile traces a function of tensors, by calling it once on tensors like args, and compiles it. The function must not look at values
// (Values, Item), and computes the same for tensors of the same shapes and types: what else it depends on is part of the program. It
// may write tensors and call Backward and an optimizer's Step. Tensors that it uses besides its arguments are read, and written, where
// they are at each run. While the function is traced no other goroutine may use its context.
func Compile(f func(args ...*Tensor) ([]*Tensor, error), args ...*Tensor) (*Step, error) {
	c := Default()
	if len(args) > 0 && args[0].Err() == nil {
		c = args[0].v.ctx
	}
	s, err := c.compileStep(f, args)
	return s, told("Compile", err)
}

func (c *Context) compileStep(f func(args ...*Tensor) ([]*Tensor, error), args []*Tensor) (s *Step, err error) {
	if err := Realize(args...); err != nil {
		return nil, err
	}
	c.lock()
	defer func() { c.unlock() }()
	s = &Step{ctx: c}
	given := make([]*Tensor, len(args))
	for i, t := range args {
		node := t.v.node()
		leaf, err := c.newLeaf(node.DType, node.Shape(), nil)
		if err != nil {
			return nil, err
		}
		leaf.flow = t.v.cell.value.flow
		s.inputs = append(s.inputs, leaf)
		s.keep = append(s.keep, c.newVariable(leaf))
		v := c.newVariable(leaf)
		v.wants = t.v.wants
		given[i] = c.hand(v)
	}
	t, err := c.beginTrace("Compile")
	if err != nil {
		return nil, err
	}
	defer func() {
		if c.trace == t { // f has panicked
			for _, ch := range t.end() {
				ch.let()
				ch.held.drop()
			}
			for _, v := range s.keep {
				v.drop()
			}
		}
	}()
	var results []*Tensor
	func() {
		c.unlock()
		defer c.lock()
		results, err = f(given...)
	}()
	nodes := make([]*value, len(results))
	for i, r := range results {
		if err == nil {
			err = r.Err()
		}
		if err == nil && r.v.ctx != c {
			err = fmt.Errorf("result %d belongs to another context", i)
		}
		if err == nil {
			nodes[i] = c.newValue(r.v.node(), r.v.cell.value)
			nodes[i].retain()
		}
	}
	defer func() {
		for _, v := range nodes {
			if v != nil {
				v.release()
			}
		}
	}()
	s.changes, s.seeds = t.end(), t.seeds
	for _, sd := range s.seeds {
		s.keep = append(s.keep, c.newVariable(sd.leaf))
	}
	if err == nil {
		err = s.build(results, nodes, given, t.used)
	}
	for _, ch := range s.changes {
		ch.let()
		s.keep = append(s.keep, ch.held)
	}
	if err != nil {
		for _, v := range s.keep {
			v.drop()
		}
		return nil, err
	}
	runtime.AddCleanup(s, func(keep []*variable) {
		for _, v := range keep {
			c.lose(v)
		}
	}, s.keep)
	return s, nil
}

// hold makes a variable that keeps a cell.
func (x *cell) hold(c *Context) *variable {
	v := &variable{ctx: c, cell: x, refs: 1}
	x.variables = append(x.variables, v)
	return v
}

// build compiles what was traced.
func (s *Step) build(results []*Tensor, nodes []*value, given []*Tensor, used map[*uop.UOp]*cell) error {
	c := s.ctx
	var stores, assigns []*uop.UOp
	outs := map[*uop.UOp]int{}
	for i, r := range results {
		v := nodes[i]
		o := output{input: -1}
		for k, g := range given {
			if r == g {
				o.input = k
			}
		}
		if o.input < 0 {
			leaf, err := c.newLeaf(v.node.DType, v.node.Shape(), nil)
			if err != nil {
				return err
			}
			o.leaf = leaf
			s.keep = append(s.keep, c.newVariable(leaf))
			outs[leaf.node.Base()] = i
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
	for _, ch := range s.changes {
		if !ch.before.leaf {
			return errNotComputed
		}
		assign, err := tensor.AssignTo(ch.before.node, ch.after.node)
		if err != nil {
			return err
		}
		assigns = append(assigns, assign)
	}
	if len(stores)+len(assigns) == 0 {
		return errors.New("the function returns nothing and writes nothing")
	}
	sink := c.graph.Sink(nil, append(stores, schedule.Simultaneous(assigns)...)...)
	sink = c.withKnown(sink)
	step, err := c.exec.Compile(sink)
	if err != nil {
		return err
	}
	s.step = step
	for _, b := range step.Buffers() {
		p, err := s.place(b, outs, used)
		if err != nil {
			return err
		}
		s.where = append(s.where, p)
	}
	return nil
}

// place finds whose memory a buffer of the program is.
func (s *Step) place(b *uop.UOp, outs map[*uop.UOp]int, used map[*uop.UOp]*cell) (place, error) {
	p := place{input: -1, output: -1}
	if i, ok := outs[b]; ok {
		p.output = i
		return p, nil
	}
	for i, in := range s.inputs {
		if in.node.Base() == b {
			p.input = i
			return p, nil
		}
	}
	for v := s.ctx.values.next; v != &s.ctx.values; v = v.next {
		if !v.leaf || v.node.Base() != b {
			continue
		}
		switch x := used[b]; {
		case x != nil && x.value == v:
			p.tensor = x.hold(s.ctx)
		case len(v.holders) > 0:
			p.tensor = v.holders[0].hold(s.ctx)
		default:
			p.tensor = s.ctx.newVariable(v)
		}
		s.keep = append(s.keep, p.tensor)
		return p, nil
	}
	return p, errors.New("a tensor that it reads was overwritten since")
}

// Run runs the program on arguments with the shapes and types of those that it was compiled for.
func (s *Step) Run(args ...*Tensor) ([]*Tensor, error) {
	out, err := s.run(args)
	return out, told("Step.Run", err)
}

func (s *Step) run(args []*Tensor) ([]*Tensor, error) {
	if len(args) != len(s.inputs) {
		return nil, fmt.Errorf("%d arguments, expected %d", len(args), len(s.inputs))
	}
	for i, t := range args {
		if err := t.Err(); err != nil {
			return nil, err
		}
		if t.v.ctx != s.ctx {
			return nil, fmt.Errorf("argument %d belongs to another context", i)
		}
	}
	c := s.ctx
	c.lock()
	defer c.unlock()
	vars := make([]*variable, len(args))
	sizes := map[string]int64{}
	for i, t := range args {
		have, want := t.v.node(), s.inputs[i].node
		same, err := sameButValues(have.Shape(), want.Shape(), sizes)
		if err != nil {
			return nil, fmt.Errorf("argument %d: %w", i, err)
		}
		if have.DType != want.DType || !same {
			return nil, fmt.Errorf("argument %d is %s of shape %s, expected %s of shape %s", i, nameOf(have.DType), have.Shape(), nameOf(want.DType), want.Shape())
		}
		vars[i] = t.v
	}
	if err := c.realize(vars); err != nil {
		return nil, err
	}
	for _, sd := range s.seeds {
		c.draw(sd.leaf.mem, sd.words)
	}
	for _, ch := range s.changes {
		x, err := s.written(ch, vars)
		if err == nil {
			err = x.own(c)
		}
		if err != nil {
			return nil, err
		}
	}
	return s.launch(args, vars, sizes)
}

// sameButValues reports whether shapes are equal but for the values of variables, and notes those of the first.
func sameButValues(have, want uop.Shape, values map[string]int64) (bool, error) {
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

// written is the cell that a change writes in this run: of an argument, or of a tensor of before.
func (s *Step) written(ch change, vars []*variable) (*cell, error) {
	for i, in := range s.inputs {
		if in == ch.before {
			if vars[i].isView() {
				return nil, fmt.Errorf("argument %d is a view, expected a tensor with memory of its own: the function writes it", i)
			}
			return vars[i].cell, nil
		}
	}
	return ch.cell, nil
}

// own makes a cell the only reader of its memory, which is about to be written, and gives its node a new name: nodes of the old
// contents are others.
func (x *cell) own(c *Context) error {
	old := x.value
	if !old.leaf {
		return errNotComputed
	}
	m := old.mem
	if old.refs > 1 {
		copied, err := allocate(m.size)
		if err != nil {
			return err
		}
		copy(copied.bytes(), m.bytes())
		if m.shared {
			old.mem = copied
			c.bind(old)
		} else {
			m = copied
		}
	} else {
		c.forget(old)
		c.unbind(old)
		old.mem = nil
	}
	fresh, err := c.newLeaf(old.node.DType, old.node.Shape(), m)
	if err != nil {
		return err
	}
	fresh.flow = old.flow
	if old.origin != nil {
		fresh.flow = flowUnset
	}
	x.set(fresh)
	return nil
}

// launch runs the program on the memory of now.
func (s *Step) launch(args []*Tensor, vars []*variable, sizes map[string]int64) (out []*Tensor, err error) {
	c := s.ctx
	made := make([]*memory, len(s.outputs))
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
		if made[i], err = allocate(sizeOf(tensor.Elements(o.leaf.node), o.leaf.node.DType)); err != nil {
			return nil, err
		}
	}
	binds := make([]exec.Binding, len(s.where))
	var copies []*memory
	defer func() {
		for _, m := range copies {
			m.free()
		}
	}()
	for i, b := range s.step.Buffers() {
		m, p := (*memory)(nil), s.where[i]
		switch {
		case p.output >= 0:
			m = made[p.output]
		case p.input >= 0:
			v := vars[p.input]
			if m = v.cell.value.mem; v.isView() {
				if m, err = c.compute(v.node()); err != nil {
					return nil, err
				}
				copies = append(copies, m)
			}
		default:
			if err = c.realize([]*variable{p.tensor}); err != nil {
				return nil, err
			}
			m = p.tensor.cell.value.mem
		}
		binds[i] = exec.Binding{Buffer: b, Ptr: m.data, Bytes: int64(m.size)}
	}
	if err = s.step.Run(binds, sizes); err != nil {
		return nil, err
	}
	for i, o := range s.outputs {
		if o.leaf == nil {
			out = append(out, args[o.input])
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
		leaf.flow = flowNever
		out = append(out, c.hand(c.newVariable(leaf)))
	}
	return out, nil
}

// Kernels returns the number of kernels of a run.
func (s *Step) Kernels() int { return s.step.Kernels() }

// Jit returns a function that does what f does: its first call runs f, the second compiles it (see Compile), the later ones run the
// program, on arguments of the shapes and types of the second call.
func Jit(f func(args ...*Tensor) ([]*Tensor, error)) func(args ...*Tensor) ([]*Tensor, error) {
	var mu sync.Mutex
	var step *Step
	calls := 0
	return func(args ...*Tensor) ([]*Tensor, error) {
		mu.Lock()
		defer mu.Unlock()
		if calls++; calls == 1 {
			out, err := f(args...)
			if err == nil {
				err = Realize(out...)
			}
			return out, err
		}
		if step == nil {
			var err error
			if step, err = Compile(f, args...); err != nil {
				return nil, err
			}
		}
		return step.Run(args...)
	}
}
