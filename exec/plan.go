package exec

import (
	"fmt"
	"slices"
	"sync/atomic"

	"polygrad/core/schedule"
	"polygrad/core/uop"
	"polygrad/exec/device"
)

// launch is one kernel with the slots of its buffers and the numbers of its variables, in argument order.
type launch struct {
	code  device.Kernel
	slots []int
	vars  []int
}

// move copies one slot to another.
type move struct {
	from, to int
	bytes    int64
}

// loop is a run of launches that is repeated, with a variable that counts, and only while the bool in a slot is true (-1: none).
type loop struct {
	first, last, variable int
	count                 int64
	while                 int
}

// plan is a request as a list of launches.
type plan struct {
	before   []move // copies of inputs, done first
	launches []launch
	loops    []loop // outer ones before those in them
	after    []move
	inputs   int
	slots    int
	temps    int
	offsets  []int64 // arena offset per slot, -1 if the slot is not a temporary
	arena    int64   // bytes
	pool     *pool   // the source of the arena
	vars     []uop.VarArg
	bytes    []int64 // per input
	written  []bool  // per input: the request changes it
	// overwritten says which inputs are written in full and not read, of a device with memory of its own.
	overwritten []bool
	maxBufs     int
	maxVars     int
	// constants are values that are computed once, nil for none; kept is their memory, nil before it is filled, runs counts runs till then.
	constants *constants
	kept      atomic.Pointer[arena]
	runs      atomic.Int64
	used      bool // found again since the caches were full
	host      hostRuns

	// spare is the state of the last run, for reuse.
	spare atomic.Pointer[run]
}

// build makes the plan of a normalised request.
func (e *Executor) build(root *uop.UOp, buffers []*uop.UOp) (*plan, error) {
	sched, err := e.schedule(root)
	if err != nil {
		return nil, err
	}
	for _, k := range sched.Kernels {
		if k.AST.Op == uop.Copy {
			return nil, fmt.Errorf("exec.Compile: the request copies between devices (%s), expected one device", k.AST)
		}
	}
	first := e.hostFirst(sched)
	p := newPlan(buffers)
	p.pool = e.pool
	slot := p.layout(sched)
	kernels, err := e.compile(sched)
	if err != nil {
		return nil, err
	}
	outs := make([][]int, len(kernels))
	for i, k := range sched.Kernels {
		p.add(kernels[i], slot, k.Bufs)
		for _, b := range kernels[i].outs {
			outs[i] = append(outs[i], slot[k.Bufs[b]])
		}
	}
	p.repeat(sched.Loops, slot)
	sizes := make([]int64, p.slots)
	for i, s := range sched.Slots {
		sizes[slot[i]] = s.Size * int64(s.DType.Itemsize())
	}
	p.constants = p.findConstants(sizes, outs)
	p.planHost(first)
	return p, nil
}

// repeat repeats launches. slot maps the schedule's slots to the plan's.
func (p *plan) repeat(loops []schedule.Loop, slot []int) {
	for _, l := range loops {
		while := -1
		if l.While >= 0 {
			while = slot[l.While]
		}
		p.loops = append(p.loops, loop{l.First, l.Last, p.variable(l.Variable), l.Count, while})
	}
}

// add appends the launch of a kernel. slot maps the schedule's slots to the plan's, bufs the kernel's PARAMs to the schedule's.
func (p *plan) add(k *kernel, slot, bufs []int) {
	l := launch{code: k.code}
	for _, b := range k.globals {
		l.slots = append(l.slots, slot[bufs[b]])
	}
	for _, b := range k.outs {
		if s := slot[bufs[b]]; s < p.inputs {
			p.written[s] = true
		}
	}
	for _, v := range k.vars {
		l.vars = append(l.vars, p.variable(v))
	}
	p.maxBufs, p.maxVars = max(p.maxBufs, len(l.slots)), max(p.maxVars, len(l.vars))
	p.launches = append(p.launches, l)
}

// variable is the plan's number of a variable.
func (p *plan) variable(v uop.VarArg) int {
	i := slices.IndexFunc(p.vars, func(o uop.VarArg) bool { return uop.ArgEqual(o, v) })
	if i < 0 {
		i = len(p.vars)
		p.vars = append(p.vars, v)
	}
	return i
}

func newPlan(buffers []*uop.UOp) *plan {
	p := &plan{inputs: len(buffers), bytes: make([]int64, len(buffers)), written: make([]bool, len(buffers)), overwritten: make([]bool, len(buffers))}
	for i, b := range buffers {
		n, ok := b.Arg.(uop.Num)
		if !ok {
			n = 1 // a number
		}
		p.bytes[i] = int64(n) * int64(b.DType.Itemsize())
	}
	return p
}

// layout gives every slot of the schedule a slot of the plan: the request's buffers first, in order, then temporaries. A STORE is
// computed in place unless its buffer is also read by the request, or the value exists already; then it is copied.
func (p *plan) layout(sched *schedule.Schedule) []int {
	inputs, bytes := p.inputs, p.bytes
	slot := make([]int, len(sched.Slots))
	p.slots = inputs
	p.offsets = make([]int64, inputs)
	for i := range p.offsets {
		p.offsets[i] = -1
	}
	p.arena = sched.ArenaBytes
	used, written := make([]bool, inputs), make([]bool, inputs)
	for i, s := range sched.Slots {
		slot[i] = -1
		if s.Input >= 0 {
			slot[i] = s.Input
			used[s.Input] = true
			written[s.Input] = s.Output >= 0 // by an ASSIGN
		}
	}
	read := slices.Clone(used)
	var late []func()
	for _, o := range sched.Outputs {
		s, t := o.Slot, o.Target
		if t < 0 {
			continue
		}
		written[t] = true
		if slot[s] < 0 && !used[t] {
			slot[s], used[t] = t, true
			p.overwritten[t] = p.pool != nil && !p.pool.limits.HostMemory && fixed(o.Value) && overwrites(sched, s) &&
				!slices.ContainsFunc(sched.Copies, func(c schedule.Copy) bool { return c.From == t })
		} else {
			late = append(late, func() { p.after = append(p.after, move{slot[s], t, bytes[t]}) })
		}
	}
	p.copies(sched.Copies, read, written)
	for i, s := range sched.Slots {
		if slot[i] >= 0 {
			continue
		}
		off := s.Offset
		if s.Output >= 0 { // results that the caller does not provide
			off = p.arena
			p.arena += aligned(s.Size * int64(s.DType.Itemsize()))
		}
		slot[i] = p.temporary(off)
	}
	for _, f := range late {
		f()
	}
	for _, moves := range [][]move{p.before, p.after} {
		for _, m := range moves {
			if m.to < inputs {
				p.written[m.to] = true
			}
		}
	}
	return slot
}

// fixed reports whether a value has a shape without variables.
func fixed(v *uop.UOp) bool {
	if v == nil {
		return false
	}
	_, ok := v.Shape().Ints()
	return ok
}

// overwrites reports whether one kernel stores all elements of a slot and none reads it; indirect stores may not cover all elements.
func overwrites(s *schedule.Schedule, slot int) bool {
	users := 0
	for _, k := range s.Kernels {
		param := slices.Index(k.Bufs, slot)
		if param < 0 {
			continue
		}
		users++
		for _, u := range k.AST.Toposort() {
			switch {
			case u.Op == uop.After:
				return false
			case u.Op != uop.Index || u.Src[0].Op != uop.Param || u.Src[0].Arg != uop.Num(param):
			case !u.DType.IsPtr() || len(u.Src) != 2 || slices.ContainsFunc(u.Src[1].Toposort(), func(x *uop.UOp) bool { return x.Op == uop.Index }):
				return false
			}
		}
	}
	return users == 1 && len(s.Loops) == 0
}

// copies plans the STOREs of whole buffers. They take effect simultaneously, before any kernel: where one would overwrite the
// source of another it goes through a temporary.
func (p *plan) copies(list []schedule.Copy, read, written []bool) {
	read, written = slices.Clone(read), slices.Clone(written)
	for _, c := range list {
		read[c.From], written[c.To] = true, true
	}
	for _, c := range list {
		n := p.bytes[c.To]
		switch {
		case n == 0 || c.From == c.To:
		case !read[c.To] && !written[c.From]:
			p.before = append(p.before, move{c.From, c.To, n})
		default:
			t := p.temporary(p.arena)
			p.arena += aligned(n)
			p.before = append(p.before, move{c.From, t, n})
			p.after = append(p.after, move{t, c.To, n})
		}
	}
}

// temporary adds a slot at an offset of the arena.
func (p *plan) temporary(offset int64) int {
	p.offsets = append(p.offsets, offset)
	p.temps++
	p.slots++
	return p.slots - 1
}
