package schedule

import (
	"fmt"
	"slices"
	"strings"

	"polygrad/core/uop"
)

// build orders the kernels of the values, numbers the buffers and lays out the temporaries. Values whose numbers are in late come last.
func build(g *uop.Graph, values []*uop.UOp, late []int) (*Schedule, error) {
	if i := slices.Index(values, nil); i >= 0 {
		return nil, fmt.Errorf("schedule.New: source %d of the SINK got no buffer", i)
	}
	b := &builder{s: &Schedule{}, slots: map[*uop.UOp]int{}, g: g.Scratch(), copies: map[*uop.UOp]*uop.UOp{}}
	var early, last []*uop.UOp
	for i, v := range values {
		if slices.Contains(late, i) {
			last = append(last, v)
		} else {
			early = append(early, v)
		}
	}
	for _, c := range order(g.Sink(nil, append(early, last...)...)) {
		b.kernel(c)
	}
	for i, v := range values {
		b.output(i, v)
	}
	b.s.PlanMemory()
	return b.s, nil
}

// computedForm is a node of the tensor graph with computed nodes replaced by their AFTER, nil if it has no buffer.
func (r *run) computedForm(u *uop.UOp) *uop.UOp {
	if v, ok := r.becomes[u]; ok {
		return v
	}
	switch {
	case u.Op == uop.Param || u.Op == uop.ConstOp || u.Op == uop.Bind:
		return u
	case sameValue.Has(u.Op) || isCopyOfContiguous(u):
		// A contiguous view of a contiguous value has no buffer of its own.
		return r.computedForm(u.Src[0])
	case u.Op == uop.Assign:
		// An ASSIGN of an ASSIGN to the same target is the inner one.
		return r.computedForm(u.Src[1])
	case uop.GroupMovement.Has(u.Op):
		if v := r.computedForm(u.Src[0]); v != nil {
			return u.With(append([]*uop.UOp{v}, u.Src[1:]...)...)
		}
	}
	return nil
}

// isCopyOfContiguous reports whether a CONTIGUOUS may be replaced by its source, a view (see dropContiguous).
func isCopyOfContiguous(u *uop.UOp) bool {
	if u.Op != uop.Contiguous {
		return false
	}
	v := u.Src[0]
	for sameValue.Has(v.Op) {
		v = v.Src[0]
	}
	return v.Op == uop.Reshape
}

// sameValue are the operations that schedules leave out.
var sameValue = uop.Ops(uop.Detach, uop.ContiguousBackward)

// order lists the kernel calls below sink so that each comes after its producers, and otherwise in the order of the graph.
func order(sink *uop.UOp) []*uop.UOp {
	var queue []*uop.UOp
	users := map[*uop.UOp][]*uop.UOp{}
	missing := map[*uop.UOp]int{}
	for _, u := range sink.ToposortGated(func(u *uop.UOp) bool { return !isKernel(u) }) {
		if u.Op != uop.After {
			continue
		}
		call := u.Src[1]
		if _, ok := missing[call]; !ok {
			missing[call] = 0
			queue = append(queue, call)
		}
		for _, s := range append(slices.Clone(call.Src[1:]), u.Src[2:]...) {
			if s = unwrap(s); s.Op == uop.After {
				users[s.Src[1]] = append(users[s.Src[1]], call)
				missing[call]++
			}
		}
	}
	queue = slices.DeleteFunc(queue, func(c *uop.UOp) bool { return missing[c] > 0 })
	for i := 0; i < len(queue); i++ {
		for _, c := range users[queue[i]] {
			if missing[c]--; missing[c] == 0 {
				queue = append(queue, c)
			}
		}
	}
	if len(queue) != len(missing) {
		panic("kernels wait for each other in a circle")
	}
	return queue
}

// unwrap is the buffer, AFTER or BIND under a kernel argument.
func unwrap(u *uop.UOp) *uop.UOp {
	for len(u.Src) > 0 && u.Op != uop.After && u.Op != uop.Buffer && u.Op != uop.Param && u.Op != uop.Bind {
		u = u.Src[0]
	}
	return u
}

// builder makes the Schedule. Its nodes are copied to a graph of their own, so the nodes of the passes can be freed.
type builder struct {
	s      *Schedule
	slots  map[*uop.UOp]int
	g      *uop.Graph
	copies map[*uop.UOp]*uop.UOp
}

func (b *builder) kernel(call *uop.UOp) {
	k := Kernel{AST: b.g.ImportMap(call.Src[0], b.copies)}
	for _, s := range call.Src[1:] {
		if s.Op != uop.Bind {
			k.Bufs = append(k.Bufs, b.slot(unwrap(s).BufUOp()))
		}
	}
	for _, u := range k.AST.Toposort() {
		if u.Op == uop.DefineVar {
			k.Vars = append(k.Vars, u)
		}
	}
	SortVars(k.Vars)
	b.s.Kernels = append(b.s.Kernels, b.splitHazard(k)...)
}

// SortVars sorts variables in the order of Kernel.Vars.
func SortVars(vars []*uop.UOp) {
	slices.SortFunc(vars, func(x, y *uop.UOp) int {
		return strings.Compare(x.Arg.(uop.VarArg).Name, y.Arg.(uop.VarArg).Name)
	})
}

func (b *builder) slot(buf *uop.UOp) int {
	if i, ok := b.slots[buf]; ok {
		return i
	}
	s := Slot{DType: buf.DType, Size: buf.Size(), Input: -1, Output: -1}
	if buf.Op == uop.Param {
		s.Input = int(buf.Arg.(uop.Num))
	}
	b.slots[buf] = len(b.s.Slots)
	b.s.Slots = append(b.s.Slots, s)
	return len(b.s.Slots) - 1
}

func (b *builder) output(i int, v *uop.UOp) {
	o := Output{Slot: -1, Target: -1, Value: b.g.ImportMap(withoutAfter(v), b.copies)}
	if base := v.Base(); base.Op == uop.After {
		o.Slot = b.slot(base.BufUOp())
		if s := &b.s.Slots[o.Slot]; s.Output < 0 {
			s.Output = i
		}
	}
	b.s.Outputs = append(b.s.Outputs, o)
}

// withoutAfter is a view of an AFTER as a view of its buffer.
func withoutAfter(u *uop.UOp) *uop.UOp {
	switch {
	case u.Op == uop.After:
		return u.BufUOp()
	case uop.GroupMovement.Has(u.Op):
		return u.With(append([]*uop.UOp{withoutAfter(u.Src[0])}, u.Src[1:]...)...)
	}
	return u
}
