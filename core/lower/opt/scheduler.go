// Package opt decides the layout of a kernel: the loops that become vectors (UPCAST, UNROLL) or are spread over threads. A choice is
// an Opt; Scheduler applies choices to a kernel, heuristic.go makes them.
package opt

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"polygrad/core/ranges"
	"polygrad/core/rewrite"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// Machine is the properties of a machine that the optimiser uses.
type Machine struct {
	// Threads is the number of threads of a kernel; 0 or 1 for none.
	Threads int
	// Groups are the limits of workgroups, nil for a machine without them.
	Groups *Groups
	// Plain leaves every loop as it is.
	Plain bool
}

// Groups are the limits of a machine with work items in workgroups of shared memory (GPUs).
type Groups struct {
	// Shared is the size of that memory in bytes.
	Shared int64
	// Items is the limit of work items in a workgroup.
	Items int64
	// Counts and Sizes are the limits of workgroups, and of work items in one, for each dimension.
	Counts, Sizes [3]int64
}

// errOpt is the cause of every refused choice: it does not fit the kernel.
var errOpt = errors.New("opt: the choice does not fit the kernel")

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errOpt, fmt.Sprintf(format, args...))
}

// axisPos orders the loops of a kernel, outermost first.
var axisPos = map[uop.AxisType]int{
	uop.AxisLoop: -1, uop.AxisThread: 0, uop.AxisGlobal: 0, uop.AxisWarp: 1, uop.AxisLocal: 2, uop.AxisUpcast: 3,
	uop.AxisGroupReduce: 2, uop.AxisReduceT: 4, uop.AxisUnroll: 5, uop.AxisOuter: -2, uop.AxisPrefix: 4,
}

// Scheduler is a kernel under optimisation.
type Scheduler struct {
	ast     *uop.UOp
	m       Machine
	noLocal bool
	applied []uop.Opt
	nextID  int
	rngs    []*uop.UOp // cache of Ranges
}

// NewScheduler starts from a kernel's SINK.
func NewScheduler(ast *uop.UOp, m Machine) *Scheduler {
	k := &Scheduler{ast: ast, m: m}
	if info, ok := ast.Arg.(uop.KernelInfo); ok {
		k.noLocal = info.DontUseLocals
		k.applied = slices.Clone(info.AppliedOpts)
	}
	for _, r := range k.Ranges() {
		k.nextID = max(k.nextID, r.RangeID().ID[0])
	}
	return k
}

// Ranges are the loops of more than one iteration, ordered by type and number.
func (k *Scheduler) Ranges() []*uop.UOp {
	if k.rngs != nil {
		return k.rngs
	}
	out := []*uop.UOp{}
	for _, u := range k.ast.BackwardSlice() {
		if u.Op == uop.Range && u.Vmax().Sign() > 0 {
			out = append(out, u)
		}
	}
	slices.SortStableFunc(out, func(a, b *uop.UOp) int {
		x, y := a.RangeID(), b.RangeID()
		if c := axisPos[x.Type] - axisPos[y.Type]; c != 0 {
			return c
		}
		return slices.Compare(x.ID, y.ID)
	})
	k.rngs = out
	return out
}

func (k *Scheduler) setAST(ast *uop.UOp) { k.ast, k.rngs = ast, nil }

// size is the trip count of axis i, simplified if symbolic.
func (k *Scheduler) size(i int) uop.Sint { return uop.S(symbolic.Simplify(k.Ranges()[i].Src[0])) }

// num is the trip count of an axis with a constant one.
func (k *Scheduler) num(i int) int64 { return k.size(i).N }

// axes are the numbers of the loops of the given types.
func (k *Scheduler) axes(types ...uop.AxisType) []int {
	var out []int
	for i, r := range k.Ranges() {
		if slices.Contains(types, r.RangeID().Type) {
			out = append(out, i)
		}
	}
	return out
}

func (k *Scheduler) rangesOf(types ...uop.AxisType) []*uop.UOp {
	var out []*uop.UOp
	for _, i := range k.axes(types...) {
		out = append(out, k.Ranges()[i])
	}
	return out
}

// numeric filters axes with a constant trip count above 1.
func (k *Scheduler) numeric(axes []int) []int {
	return slices.DeleteFunc(axes, func(i int) bool { s := k.size(i); return s.Symbolic() || s.N <= 1 })
}

func (k *Scheduler) upcastable() []int {
	return k.numeric(k.axes(uop.AxisGlobal, uop.AxisLocal, uop.AxisLoop))
}

func (k *Scheduler) unrollable() []int {
	return k.numeric(k.axes(uop.AxisGroupReduce, uop.AxisReduceT))
}

func (k *Scheduler) product(axes []int) int64 {
	p := int64(1)
	for _, i := range axes {
		p *= k.num(i)
	}
	return p
}

// upcastSize is the number of values computed in an iteration of the innermost loop.
func (k *Scheduler) upcastSize() int64 { return k.product(k.axes(uop.AxisUpcast, uop.AxisUnroll)) }

// reduceop is the first REDUCE of the kernel, nil if there is none.
func (k *Scheduler) reduceop() *uop.UOp {
	for _, u := range k.ast.BackwardSlice() {
		if u.Op == uop.Reduce {
			return u
		}
	}
	return nil
}

// bufs are the INDEXes of the kernel, the last one first.
func (k *Scheduler) bufs() []*uop.UOp {
	var out []*uop.UOp
	for _, u := range k.ast.Toposort() {
		if u.Op == uop.Index {
			out = append(out, u)
		}
	}
	slices.Reverse(out)
	return out
}

func (k *Scheduler) outputRanges() []*uop.UOp {
	var out []*uop.UOp
	for _, s := range k.ast.Src {
		if s.Op != uop.End {
			continue
		}
		for _, r := range k.ast.Graph().Sink(nil, s.Src[1:]...).Ranges() {
			if r.RangeID().Type != uop.AxisReduceT {
				out = append(out, r)
			}
		}
	}
	return out
}

// globalizable are the output loops with independent iterations.
func (k *Scheduler) globalizable() []*uop.UOp {
	out := slices.DeleteFunc(k.outputRanges(), func(r *uop.UOp) bool { return r.RangeID().Type != uop.AxisLoop })
	for _, x := range k.ast.Toposort() {
		if x.Op == uop.Bufferize {
			out = slices.DeleteFunc(out, func(r *uop.UOp) bool { return !x.InRange(r) })
		}
	}
	return out
}

// makeGlobal makes the output loops parallel, if the machine has work items.
func (k *Scheduler) makeGlobal() {
	if k.m.Groups == nil {
		return
	}
	m := rewrite.Map{}
	for _, r := range k.globalizable() {
		m[r] = r.WithArg(uop.RangeArg{ID: r.RangeID().ID, Type: uop.AxisGlobal})
	}
	k.setAST(rewrite.Substitute(k.ast, m))
}

// shift splits a loop into an outer one and a new inner one of the given size. With top the new loop is the outer one.
func (k *Scheduler) shift(rng *uop.UOp, amount int64, t uop.AxisType, top bool) (outer, inner *uop.UOp, err error) {
	g := rng.Graph()
	old := symbolic.Divides(rng.Src[0], uop.Int(amount))
	if old == nil {
		return nil, nil, refuse("%d does not divide the loop of %s", amount, rng.Src[0].Render())
	}
	k.nextID++
	inner = g.Range(uop.N(amount), t, k.nextID)
	outer = rng.With(append([]*uop.UOp{old}, rng.Src[1:]...)...)
	var sub *uop.UOp
	if top {
		sub = inner.Mul(old).Add(outer)
	} else {
		sub = outer.MulInt(amount).Add(inner)
	}
	k.setAST(rewrite.Substitute(k.ast, rewrite.Map{rng: sub}))
	return outer, inner, nil
}

// axis finds the loop of a choice.
func (k *Scheduler) axis(o uop.Opt) (int, error) {
	list := k.Ranges()
	idx := make([]int, len(list))
	for i := range idx {
		idx[i] = i
	}
	switch o.Op {
	case uop.OptUnroll:
		idx = k.unrollable()
	case uop.OptGroup, uop.OptGroupTop:
		idx = k.axes(uop.AxisReduceT)
	}
	if o.Axis < 0 || o.Axis >= len(idx) {
		return 0, refuse("%s: no axis %d among %d", o, o.Axis, len(idx))
	}
	return idx[o.Axis], nil
}

var splitType = map[uop.OptOp]uop.AxisType{
	uop.OptLocal: uop.AxisLocal, uop.OptUpcast: uop.AxisUpcast, uop.OptUnroll: uop.AxisUnroll,
	uop.OptGroup: uop.AxisGroupReduce, uop.OptGroupTop: uop.AxisGroupReduce, uop.OptThread: uop.AxisThread,
}

// Apply applies one choice. An error leaves the kernel as it was.
func (k *Scheduler) Apply(o uop.Opt) error {
	if err := k.apply(o); err != nil {
		return err
	}
	k.applied = append(k.applied, o)
	return nil
}

func (k *Scheduler) apply(o uop.Opt) error {
	if o.Op == uop.OptNoLocals {
		if len(k.axes(uop.AxisWarp, uop.AxisLocal, uop.AxisGroupReduce)) > 0 {
			return refuse("NOLOCALS: the kernel has local loops already")
		}
		k.noLocal = true
		return nil
	}
	i, err := k.axis(o)
	if err != nil {
		return err
	}
	rng := k.Ranges()[i]
	switch o.Op {
	case uop.OptPadTo:
		return k.pad(o, rng)
	case uop.OptSwap:
		return k.swap(o, rng)
	case uop.OptTC:
		return refuse("TC: the machine has no tensor cores")
	}
	amount := int64(o.Arg)
	if amount == 0 {
		amount = rng.Vmax().I() + 1
	}
	if err := k.check(o, rng, amount); err != nil {
		return err
	}
	_, _, err = k.shift(rng, amount, splitType[o.Op], o.Op == uop.OptGroupTop || o.Op == uop.OptThread)
	return err
}

// check validates a split.
func (k *Scheduler) check(o uop.Opt, rng *uop.UOp, amount int64) error {
	t := rng.RangeID().Type
	group := o.Op == uop.OptGroup || o.Op == uop.OptGroupTop
	if group || o.Op == uop.OptLocal {
		if k.m.Groups == nil || k.noLocal {
			return refuse("%s: no workgroups", o)
		}
		if items := amount * k.product(k.axes(uop.AxisWarp, uop.AxisLocal, uop.AxisGroupReduce)); items > k.m.Groups.Items {
			return refuse("%s: a workgroup of %d, the most is %d", o, items, k.m.Groups.Items)
		}
	}
	if red := k.reduceop(); red != nil && (group || len(k.axes(uop.AxisGroupReduce)) > 0) {
		local := k.product(k.axes(uop.AxisUpcast, uop.AxisWarp, uop.AxisLocal, uop.AxisGroupReduce))
		if need := amount * local * int64(red.DType.Itemsize()); need > k.m.Groups.Shared {
			return refuse("%s: needs %d bytes of local memory, there are %d", o, need, k.m.Groups.Shared)
		}
	}
	switch o.Op {
	case uop.OptUnroll:
		if amount > 32 {
			return refuse("%s: more than 32", o)
		}
	case uop.OptUpcast:
		if amount > 16 {
			return refuse("%s: more than 16", o)
		}
		if t != uop.AxisGlobal && t != uop.AxisLocal && t != uop.AxisLoop {
			return refuse("%s: not for a %s loop", o, t)
		}
	case uop.OptLocal:
		if t != uop.AxisGlobal && t != uop.AxisLoop {
			return refuse("%s: not for a %s loop", o, t)
		}
	case uop.OptThread:
		switch {
		case amount > int64(k.m.Threads):
			return refuse("%s: the machine has %d threads", o, k.m.Threads)
		case len(k.axes(uop.AxisThread)) > 0:
			return refuse("%s: threads are used already", o)
		case !slices.Contains(k.globalizable(), rng):
			return refuse("%s: the rounds of the loop depend on each other", o)
		}
	case uop.OptGroup, uop.OptGroupTop:
		return k.checkGroup(o, rng)
	}
	return nil
}

// checkGroup refuses to split a reduction inside another loop: its barrier would be inside, too.
func (k *Scheduler) checkGroup(o uop.Opt, rng *uop.UOp) error {
	if len(k.axes(uop.AxisLoop, uop.AxisOuter)) > 0 {
		return refuse("%s: a reduction inside a loop", o)
	}
	for _, u := range k.ast.BackwardSlice() {
		if u.Op != uop.Reduce || !slices.ContainsFunc(u.Src[1:], func(r *uop.UOp) bool { return r.InRange(rng) }) {
			continue
		}
		for _, r := range u.Ranges() {
			if t := r.RangeID().Type; t == uop.AxisReduceT || t == uop.AxisUnroll || t == uop.AxisGroupReduce {
				return refuse("%s: a reduction inside another one", o)
			}
		}
		break
	}
	return nil
}

// pad extends a loop to a multiple; the surplus iterations read and write nothing.
func (k *Scheduler) pad(o uop.Opt, rng *uop.UOp) error {
	id := rng.RangeID()
	if rng.Src[0].Op != uop.ConstOp || id.Type == uop.AxisUpcast || id.Type == uop.AxisUnroll || id.Type == uop.AxisThread {
		return refuse("%s: not for a %s loop of %s", o, id.Type, rng.Src[0].Render())
	}
	if red := k.reduceop(); red != nil && (id.Type == uop.AxisGroupReduce || id.Type == uop.AxisReduceT) {
		if !red.Arg.Equal(uop.OpArg(uop.Add)) || red.HasOp(uop.GroupUnsafePad) {
			return refuse("%s: the reduction does not take zeros", o)
		}
	}
	old, n := rng.Vmax().I()+1, int64(o.Arg)
	size := (old + n - 1) / n * n
	if old <= size/4 {
		return refuse("%s: more than four times the work", o)
	}
	g := rng.Graph()
	wide := g.Range(uop.N(size), id.Type, id.ID...)
	m := rewrite.Map{rng: wide}
	valid := wide.LtInt(old)
	for _, b := range k.bufs() {
		if i := b.Src[1].GetIdx(); i.DependsOn(rng) {
			m[b] = b.With(b.Src[0], valid.And(b.Src[1].GetValid()).Where(i, g.InvalidIndex(1)))
		}
	}
	k.setAST(rewrite.Substitute(k.ast, m))
	return nil
}

func (k *Scheduler) swap(o uop.Opt, rng *uop.UOp) error {
	if o.Arg < 0 || o.Arg >= len(k.Ranges()) {
		return refuse("%s: no axis %d", o, o.Arg)
	}
	other := k.Ranges()[o.Arg]
	a, b := rng.RangeID(), other.RangeID()
	if a.Type != uop.AxisGlobal || b.Type != uop.AxisGlobal {
		return refuse("%s: only for GLOBAL loops", o)
	}
	// The tag keeps the replacements from being replaced again.
	m := rewrite.Map{rng: rng.WithArg(b).WithTag(uop.Num(1)), other: other.WithArg(a).WithTag(uop.Num(1))}
	k.setAST(rewrite.Graph(rewrite.Substitute(k.ast, m), rewrite.RemoveTags, nil))
	return nil
}

// Finish names the kernel after its loops and marks it as optimised. name, if not "", is used instead.
func (k *Scheduler) Finish(name string) *uop.UOp {
	if name == "" {
		parts := []string{"E"}
		if k.reduceop() != nil {
			parts[0] = "r"
		}
		for _, r := range k.Ranges() {
			size := "n" // the size is in memory
			if !r.Src[0].HasOp(uop.Ops(uop.Index)) {
				size = r.Src[0].Render()
			}
			parts = append(parts, size)
		}
		name = strings.Join(parts, "_")
	}
	k.setAST(rewrite.Graph(k.ast, ranges.FlattenRange, nil))
	info := uop.KernelInfo{Name: name, AppliedOpts: k.applied, DontUseLocals: k.noLocal}
	return k.ast.WithArg(info).WithTag(uop.Num(1))
}
