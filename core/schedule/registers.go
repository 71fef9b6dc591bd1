package schedule

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"polygrad/core/rewrite"
	"polygrad/core/settings"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// A loop whose state is a few numbers becomes one kernel that keeps them in registers, with the statements of an iteration, scalarised, as
// its body. A batch of such loops is an outer parallel loop, hence vectorized and shared by threads; each loop of the batch may use only its
// own elements.

// Limits of such a kernel: the registers, and the operations of an iteration.
const (
	maxRegisters  = 96
	maxOperations = 2048
)

// Costs in cycles: of a scalar or vector operation, and of a loop over elements in a kernel, with its latency.
const (
	cyclesPerOperation    = 0.5
	cyclesPerLoop         = 40
	lanesOfVectors        = 8
	operationsPerDivision = 10 // integer division, which is faster in vectors
	cyclesPerLaunch       = 16384
)

// Limits of a launch of a loop in a kernel: maxStepsPerLaunch limits the iterations of a while loop, which still cost a few cycles each after
// its end, mostCycles the work of other loops, which cannot be interrupted. The cycles of dependency chains are underestimated.
const (
	maxStepsPerLaunch = 1024
	mostCycles        = 1 << 23
)

// dumpDecision prints a decision for POLY_DUMP=fuse.
func (s *Schedule) dumpDecision(l Loop, form, reason string) {
	if settings.Dumps("fuse") {
		fmt.Fprintf(os.Stderr, "loop over %s of %d iterations, kernels %d to %d: %s: %s\n", l.Variable.Name, l.Count, l.First, l.Last-1, form, reason)
	}
}

// inRegisters compiles a loop to a kernel that keeps its state in registers; none with the reason if that is not possible. private slots are
// dead after an iteration. The kernel does some iterations, and the loop becomes one over its launches. For a batch of while loops a second
// kernel computes whether any of them continues.
func (s *Schedule) inRegisters(l *Loop, private func(slot int) bool) (made []Kernel, reason string) {
	kernels := s.Kernels[l.First:l.Last]
	b := &registerLoop{s: s, l: *l, private: private, read: map[int]bool{}, written: map[int]bool{}, stored: map[int][]bool{}}
	trips := []int64{1}
	work, loops := int64(0), len(kernels)
	for _, k := range kernels {
		if k.AST.Op != uop.Sink {
			return nil, "it copies between devices"
		}
		for _, u := range k.AST.Toposort() {
			switch u.Op {
			case uop.Range:
				if !isPlainLoop(u) {
					return nil, "a loop of a kernel has no fixed length, or an order"
				}
				if t := u.Src[0].ConstVal().I(); u.RangeID().Type == uop.AxisLoop && !slices.Contains(trips, t) {
					trips = append(trips, t)
				}
			case uop.Store:
				if u.Src[0].Op != uop.Index || u.Src[0].Src[0].Op != uop.Param {
					return nil, "a kernel stores through memory of its own"
				}
				slot := b.slotOf(k, u.Src[0])
				b.written[slot] = true
				b.stored[slot] = append(b.stored[slot], b.isStep(u.Src[0].Src[1]))
				work += volume(u)
			case uop.Index:
				switch source := u.Src[0]; {
				case source.Op == uop.Bufferize && len(u.Src) == len(source.Src):
				case source.Op != uop.Param:
					return nil, "a kernel has memory of its own"
				case !u.DType.IsPtr():
					b.read[b.slotOf(k, u)] = true
				}
			case uop.Reduce:
				work += volume(u.Src[0])
				loops++
			case uop.Bufferize:
				work += volume(u.Src[0])
			case uop.Param, uop.ConstOp, uop.VConstOp, uop.DefineVar, uop.Group, uop.End, uop.Sink, uop.Cast, uop.Bitcast:
			default:
				if !uop.GroupALU.Has(u.Op) {
					return nil, fmt.Sprintf("a kernel has a %s", u.Op)
				}
				if u.DType == uop.IndexT || u.Src[0].DType == uop.IndexT {
					continue // address arithmetic
				}
				if n := volume(u); u.Op == uop.Idiv || u.Op == uop.Mod {
					work += operationsPerDivision * n
				} else {
					work += n
				}
			}
		}
	}
	for slot, steps := range b.stored {
		// Per-iteration results are stored to memory by a single store.
		if b.isPerIteration(slot) && len(steps) > 1 {
			return nil, "memory of one iteration is written in several places"
		}
	}
	slices.Sort(trips)
	var reasons []string
	for _, batch := range slices.Backward(trips) {
		// Without a batch the elements are computed one by one, which must cost less than loops over them.
		perLoop := work / batch
		vectors := max(1, (batch+lanesOfVectors-1)/lanesOfVectors)
		cycles, instead := float64(perLoop*vectors)*cyclesPerOperation, loopCycles(work, loops)
		why := ""
		switch {
		case perLoop > 4*maxOperations:
			why = fmt.Sprintf("about %d operations in an iteration, limit %d", perLoop, maxOperations)
		case cycles > instead:
			why = fmt.Sprintf("%.0f cycles for an iteration element by element, %.0f in loops over elements", cycles, instead)
		default:
			if why = b.run(kernels, batch, cycles); why == "" {
				reason = fmt.Sprintf("%d side by side, each with %d numbers and %d operations in an iteration; %.0f cycles, %.0f in loops over elements",
					batch, len(b.carried), len(b.counted), cycles, instead)
				if n := b.step.Vmax().I() + 1; n < l.Count {
					reason += fmt.Sprintf("; %d iterations in a launch", n)
				}
				*l = b.launches
				return b.kernels(), reason
			}
		}
		reasons = append(reasons, fmt.Sprintf("%d side by side: %s", batch, why))
	}
	return nil, strings.Join(reasons, ", ")
}

// registerLoop is a kernel in the making.
type registerLoop struct {
	s             *Schedule
	l             Loop
	private       func(slot int) bool
	read, written map[int]bool   // slots
	stored        map[int][]bool // for each store to a slot: whether its address depends on the iteration

	g        *uop.Graph
	batch    int64
	launches Loop
	of       *uop.UOp // the index in the batch
	// step is the loop over the iterations of a launch, iteration the number of the current iteration of all launches.
	step, iteration *uop.UOp
	// flags maps the slots with the condition that any loop of a batch continues to the condition of one loop.
	flags     map[int]*uop.UOp
	while     *register // the condition of a while loop, nil for a fixed trip count
	bufs      []int
	params    []*uop.UOp
	registers []*register
	carried   []*register // loop-carried
	at        map[place]*register
	stores    []*uop.UOp        // of per-iteration results
	counted   map[*uop.UOp]bool // operations
	like      map[int]*uop.UOp  // PARAMs of slots
}

// place is an element of a slot, one for each loop of the batch.
type place struct {
	slot   int
	number int64
}

// register keeps such an element between iterations.
type register struct {
	place
	define        *uop.UOp
	first, before *uop.UOp // the store of its initial value, and the value before an iteration, nil if that is never read
	now           *uop.UOp
}

// refusal is the reason why a loop is not kept in registers.
type refusal string

func refuse(format string, args ...any) { panic(refusal(fmt.Sprintf(format, args...))) }

func (b *registerLoop) slotOf(k Kernel, index *uop.UOp) int {
	return k.Bufs[int(index.Src[0].Arg.(uop.Num))]
}

// run emits an iteration for a batch of loops; why is empty on success.
func (b *registerLoop) run(kernels []Kernel, batch int64, cycles float64) (why string) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case refusal:
			why = string(r)
		default:
			panic(r)
		}
	}()
	b.g = kernels[0].AST.Graph().Scratch()
	b.batch, b.of = batch, b.g.Const(uop.IndexT, uop.Int(0))
	b.step, b.iteration, b.launches = b.l.pieces(b.g, cycles)
	b.flags, b.while = map[int]*uop.UOp{}, nil
	if batch > 1 {
		b.of = b.g.Range(uop.N(batch), uop.AxisLoop, 1)
	}
	b.bufs, b.params, b.registers, b.carried, b.at, b.stores = nil, nil, nil, nil, map[place]*register{}, nil
	b.counted, b.like = map[*uop.UOp]bool{}, map[int]*uop.UOp{}
	for _, k := range kernels {
		b.add(k)
	}
	for _, r := range b.registers {
		if r.now != nil && r.now != r.before && (!b.private(r.slot) || r.before != nil) {
			b.carried = append(b.carried, r)
		}
	}
	if len(b.carried) > maxRegisters {
		refuse("%d numbers from one iteration to the next, limit %d", len(b.carried), maxRegisters)
	}
	if b.l.While >= 0 {
		b.findWhile()
	}
	return ""
}

// findWhile finds the condition of a while loop in the state. The loops of a batch continue as long as any of them does, and those that have
// ended must not change, so that each may end by itself.
func (b *registerLoop) findWhile() {
	if len(b.stores) > 0 {
		refuse("a while loop keeps something of each iteration")
	}
	if b.batch == 1 {
		if b.while = b.at[place{b.l.While, 0}]; b.while == nil || b.while.now == nil {
			refuse("the condition of the loop does not change")
		}
		b.load(b.while)
		return
	}
	for slot := range b.flags {
		if slot != b.l.While && !b.private(slot) {
			refuse("another number than the condition is the same for the loops side by side")
		}
	}
	goesOn := b.flags[b.l.While]
	for _, r := range b.carried {
		if r.before != nil && r.now.DType == uop.Bool && (r.now == goesOn || r.now.Cast(uop.Int32) == goesOn) {
			b.while = r
		}
	}
	if b.while == nil {
		refuse("the condition of the loops side by side is none of each loop")
	}
	ended := rewrite.Map{b.while.before: b.g.Const(uop.Bool, uop.BoolConst(false))}
	for _, r := range b.carried {
		if now := symbolic.Simplify(rewrite.Substitute(r.now, ended)); now != r.before && now != ended[r.before] {
			refuse("a loop that has ended changes while others beside it go on")
		}
	}
}

// add emits the stores of a kernel.
func (b *registerLoop) add(k Kernel) {
	ast := b.g.Import(k.AST)
	type write struct {
		to    *register
		value *uop.UOp
	}
	var writes []write
	for _, end := range ast.Src {
		var ranges []*uop.UOp
		for end.Op == uop.End {
			ranges = append(ranges, end.EndedRanges()...)
			end = end.Src[0]
		}
		stores := []*uop.UOp{end}
		if end.Op == uop.Group {
			stores = end.Src
		}
		for _, st := range stores {
			if st.Op != uop.Store {
				refuse("a kernel has a %s in its loops", st.Op)
			}
			if len(st.Src) > 2 || len(st.Src[0].Src) > 2 {
				refuse("a store has a condition")
			}
		}
		across, n := b.batchLoop(k, stores, ranges)
		inner := slices.DeleteFunc(slices.Clone(ranges), func(r *uop.UOp) bool { return r == across })
		v := &evaluator{b: b, k: k, at: map[*uop.UOp]*uop.UOp{}}
		each := func(j int64) {
			clear(v.at)
			rest := j
			for _, r := range slices.Backward(inner) {
				t := r.Src[0].ConstVal().I()
				v.at[r], rest = b.number(rest%t), rest/t
			}
			if across != nil {
				v.at[across] = symbolic.Simplify(b.of.Mul(b.number(n)).Add(b.number(rest)))
			}
			for _, st := range stores {
				slot := b.slotOf(k, st.Src[0])
				if b.isFlag(slot) {
					b.flags[slot] = v.perLoopCondition(st.Src[1])
					b.like[slot] = st.Src[0].Src[0]
					continue
				}
				index, value := v.of(st.Src[0].Src[1]), v.of(st.Src[1])
				b.like[slot] = st.Src[0].Src[0]
				if b.isPerIteration(slot) {
					b.stores = append(b.stores, b.param(slot, b.like[slot]).IndexPtr(index).Store(value))
					continue
				}
				writes = append(writes, write{b.register(slot, index, value.DType), value})
			}
		}
		total := n
		for _, r := range inner {
			total *= r.Src[0].ConstVal().I()
		}
		for j := range total {
			each(j)
		}
	}
	stored := map[*register]bool{}
	for _, w := range writes {
		if stored[w.to] {
			refuse("a kernel stores twice to an element")
		}
		w.to.now, stored[w.to] = w.value, true
	}
}

// batchLoop is the loop of a kernel over the batch, and the number of its iterations that belong to one loop of the batch.
func (b *registerLoop) batchLoop(k Kernel, stores, ranges []*uop.UOp) (r *uop.UOp, n int64) {
	if b.batch == 1 {
		return nil, 1
	}
	for _, r := range ranges {
		t := r.Src[0].ConstVal().I()
		if t%b.batch != 0 {
			continue
		}
		n := t / b.batch
		if !slices.ContainsFunc(stores, func(st *uop.UOp) bool {
			return !b.isFlag(b.slotOf(k, st.Src[0])) && !b.strides(k, st.Src[0], r, n)
		}) {
			return r, n
		}
	}
	if len(ranges) == 0 && !slices.ContainsFunc(stores, func(st *uop.UOp) bool { return !b.isFlag(b.slotOf(k, st.Src[0])) }) {
		return nil, 1
	}
	refuse("a kernel has no loop over a batch of %d", b.batch)
	return nil, 0
}

// isFlag reports whether a slot is the shared condition of a batch of while loops.
func (b *registerLoop) isFlag(slot int) bool {
	x := b.s.Slots[slot]
	return b.l.While >= 0 && b.batch > 1 && x.Size == 1 && x.DType.IsBool()
}

// strides reports whether n iterations of a range address the elements of one loop of the batch in a store.
func (b *registerLoop) strides(k Kernel, index, r *uop.UOp, n int64) bool {
	slot := b.slotOf(k, index)
	if b.isPerIteration(slot) {
		return true
	}
	size := b.s.Slots[slot].Size
	at := func(i int64) *uop.UOp {
		return symbolic.Simplify(rewrite.Substitute(index.Src[1], rewrite.Map{r: b.number(i)}))
	}
	d := symbolic.Simplify(at(n).Sub(at(0)))
	return size%b.batch == 0 && d.Op == uop.ConstOp && d.ConstVal().I() == size/b.batch
}

// isPerIteration reports whether a slot holds per-iteration results.
func (b *registerLoop) isPerIteration(slot int) bool {
	return !b.read[slot] && slices.Contains(b.stored[slot], true)
}

// isStep reports whether an address in a kernel depends on the iteration.
func (b *registerLoop) isStep(index *uop.UOp) bool {
	return index.Find(func(u *uop.UOp) bool {
		return u.Op == uop.DefineVar && u.Arg.(uop.VarArg).Name == b.l.Variable.Name
	}) != nil
}

func (b *registerLoop) number(n int64) *uop.UOp { return b.g.Const(uop.IndexT, uop.Int(n)) }

// register is the register of an element.
func (b *registerLoop) register(slot int, index *uop.UOp, dt *uop.DType) *register {
	size := b.s.Slots[slot].Size
	stride := size / b.batch
	if size%b.batch != 0 {
		refuse("%d elements in a batch of %d", size, b.batch)
	}
	number := symbolic.Simplify(index.Sub(b.of.Mul(b.number(stride))))
	if number.Op != uop.ConstOp {
		refuse("an address of the state depends on the iteration, or on another loop of the batch")
	}
	p := place{slot, number.ConstVal().I()}
	r := b.at[p]
	if r == nil {
		r = &register{place: p, define: b.g.New(uop.DefineReg, dt.Ptr(1, uop.Reg), nil, uop.Num(len(b.registers)), nil)}
		if b.at[p], b.registers = r, append(b.registers, r); len(b.registers) > maxOperations {
			refuse("more than %d numbers in an iteration", maxOperations)
		}
	}
	return r
}

// param is the argument of the kernel for a slot.
func (b *registerLoop) param(slot int, like *uop.UOp) *uop.UOp {
	i := slices.Index(b.bufs, slot)
	if i < 0 {
		i = len(b.bufs)
		b.bufs, b.params = append(b.bufs, slot), append(b.params, b.g.Import(like).WithArg(uop.Num(i)))
	}
	return b.params[i]
}

// evaluator evaluates nodes of a kernel for given iterations of its loops.
type evaluator struct {
	b  *registerLoop
	k  Kernel
	at map[*uop.UOp]*uop.UOp
}

func (v *evaluator) of(u *uop.UOp) *uop.UOp {
	if w, ok := v.at[u]; ok {
		return w
	}
	w := v.compute(u)
	v.at[u] = w
	return w
}

func (v *evaluator) compute(u *uop.UOp) *uop.UOp {
	b := v.b
	switch u.Op {
	case uop.ConstOp, uop.VConstOp:
		return u
	case uop.DefineVar:
		if u.Arg.(uop.VarArg).Name == b.l.Variable.Name {
			return b.iteration.Cast(u.DType)
		}
		return u
	case uop.Range:
		refuse("a value is computed from a loop that is closed")
	case uop.Where:
		// The address of the other branch may be invalid.
		switch c := v.of(u.Src[0]); {
		case c.Op != uop.ConstOp:
		case c.ConstVal() == uop.BoolConst(true):
			return v.of(u.Src[1])
		default:
			return v.of(u.Src[2])
		}
	case uop.Reduce:
		return v.reduce(u)
	case uop.Index:
		return v.load(u)
	}
	src := make([]*uop.UOp, len(u.Src))
	for i, s := range u.Src {
		src[i] = v.of(s)
	}
	w := u.With(src...)
	isConst := func(u *uop.UOp) bool { return u.Op == uop.ConstOp }
	isAddress := func(u *uop.UOp) bool { return u.DType == uop.IndexT || isConst(u) }
	switch i := slices.IndexFunc(src, isConst); {
	case u.DType == uop.IndexT || len(src) > 0 && !slices.ContainsFunc(src, func(u *uop.UOp) bool { return !isAddress(u) }):
		return symbolic.Simplify(w)
	case i >= 0 && u.DType == uop.Bool && (u.Op == uop.And || u.Op == uop.Or): // combines a condition on addresses and one on data
		if src[i].ConstVal().Truth() == (u.Op == uop.Or) {
			return src[i]
		}
		return src[1-i]
	}
	if uop.GroupALU.Has(u.Op) {
		v.b.count(w)
	}
	return w
}

// count counts an operation.
func (b *registerLoop) count(u *uop.UOp) {
	if b.counted[u] = true; len(b.counted) > maxOperations {
		refuse("more than %d operations in an iteration", maxOperations)
	}
}

// load is the current value of an element of the state, or an element of read-only memory.
func (v *evaluator) load(u *uop.UOp) *uop.UOp {
	b := v.b
	if u.Src[0].Op == uop.Bufferize {
		return v.recompute(u)
	}
	slot, index := b.slotOf(v.k, u), v.of(u.Src[1])
	if index.Op == uop.Where || index.Op == uop.ConstOp && index.ConstVal().IsInvalid() || len(u.Src) > 2 {
		refuse("a load has a condition")
	}
	if !b.written[slot] {
		return b.param(slot, u.Src[0]).IndexBy(index)
	}
	r := b.register(slot, index, u.DType)
	if r.now == nil {
		b.like[slot] = u.Src[0]
		b.load(r)
		r.now = r.before
	}
	return r.now
}

// recompute replaces a read of a row in scratch memory by the computation of the element.
func (v *evaluator) recompute(u *uop.UOp) *uop.UOp {
	inner := &evaluator{b: v.b, k: v.k, at: map[*uop.UOp]*uop.UOp{}}
	for r, w := range v.at {
		if r.Op == uop.Range {
			inner.at[r] = w
		}
	}
	for i, r := range u.Src[0].Src[1:] {
		inner.at[r] = v.of(u.Src[1+i])
	}
	return inner.of(u.Src[0].Src[0])
}

// load initialises a register before the first iteration.
func (b *registerLoop) load(r *register) {
	if r.before != nil {
		return
	}
	at := b.number(r.number).Add(b.of.Mul(b.number(b.s.Slots[r.slot].Size / b.batch)))
	define, zero := r.define, b.g.Const(uop.Int32, uop.Int(0))
	if b.batch > 1 {
		define = define.AfterOps(b.of)
	}
	r.first = define.IndexBy(zero).Store(b.param(r.slot, b.like[r.slot]).IndexBy(symbolic.Simplify(at)))
	r.before = b.current(r, b.step)
}

// current is the value of a register in a loop.
func (b *registerLoop) current(r *register, loops ...*uop.UOp) *uop.UOp {
	return r.define.AfterOps(append([]*uop.UOp{r.first}, loops...)...).IndexBy(b.g.Const(uop.Int32, uop.Int(0)))
}

// perLoopCondition returns the condition of one loop, given the condition that any loop of the batch continues.
func (v *evaluator) perLoopCondition(u *uop.UOp) *uop.UOp {
	for u.Op != uop.Reduce {
		if u.Op == uop.Index && u.Src[0].Op == uop.Param {
			if each := v.b.flags[v.b.slotOf(v.k, u)]; each != nil {
				return each
			}
		}
		if len(u.Src) == 0 || u.Op != uop.CmpNe && u.Op != uop.Cast || u.Op == uop.CmpNe && !u.Src[1].IsConst(uop.Int(0)) {
			refuse("the condition of the loops side by side is not whether any of them goes on")
		}
		u = u.Src[0]
	}
	if len(u.Src) != 2 || u.Src[1].Src[0].ConstVal().I() != v.b.batch || uop.Op(u.Arg.(uop.OpArg)) != uop.Max {
		refuse("the condition of the loops side by side is not whether any of them goes on")
	}
	each := &evaluator{b: v.b, k: v.k, at: map[*uop.UOp]*uop.UOp{u.Src[1]: v.b.of}}
	return each.of(u.Src[0])
}

// reduce combines the terms of a reduction.
func (v *evaluator) reduce(u *uop.UOp) (sum *uop.UOp) {
	total := int64(1)
	for _, r := range u.Src[1:] {
		total *= r.Src[0].ConstVal().I()
	}
	if total > maxOperations {
		refuse("a sum of %d terms", total)
	}
	outer := v.at
	for j := range total {
		v.at = map[*uop.UOp]*uop.UOp{}
		for r, w := range outer {
			if r.Op == uop.Range {
				v.at[r] = w
			}
		}
		for _, r := range slices.Backward(u.Src[1:]) {
			t := r.Src[0].ConstVal().I()
			v.at[r], j = v.b.number(j%t), j/t
		}
		if term := v.of(u.Src[0]); sum == nil {
			sum = term
		} else {
			sum = sum.Alu(uop.Op(u.Arg.(uop.OpArg)), term)
			v.b.count(sum)
		}
	}
	v.at = outer
	return sum
}

// kernels builds the kernel of the loop and, for a batch of while loops, the kernel of the shared condition.
func (b *registerLoop) kernels() []Kernel {
	zero := b.g.Const(uop.Int32, uop.Int(0))
	loops, once := []*uop.UOp{b.step}, map[*uop.UOp]*uop.UOp{}
	if b.while != nil {
		loops = append(loops, guardedIteration(b.while.before, 2))
		for _, r := range b.registers {
			if r.before != nil {
				once[r.before] = b.current(r, loops...)
			}
		}
	}
	var before, body []*uop.UOp
	for _, r := range b.registers {
		if v := once[r.before]; v != nil {
			before = append(before, v)
		} else if r.before != nil {
			before = append(before, r.before)
		}
	}
	next := make([]*uop.UOp, len(b.carried))
	for i, r := range b.carried {
		next[i] = r.now
	}
	next = replaced(b.g.Sink(nil, next...), once).Src
	for i, r := range b.carried {
		// The whole state is read before it is updated.
		body = append(body, r.define.AfterOps(append(slices.Clone(loops), before...)...).IndexBy(zero).Store(next[i]))
	}
	loop := closeLoops(b.g.Group(append(body, b.stores...)...), loops)
	var ends []*uop.UOp
	for _, r := range b.carried {
		if b.private(r.slot) {
			continue
		}
		at := b.number(r.place.number).Add(b.of.Mul(b.number(b.s.Slots[r.slot].Size / b.batch)))
		p := b.param(r.slot, b.like[r.slot])
		ends = append(ends, p.IndexPtr(symbolic.Simplify(at)).Store(r.define.AfterOps(loop).IndexBy(zero)))
	}
	end := loop
	if len(ends) > 0 {
		end = b.g.Group(ends...)
	}
	if b.batch > 1 {
		end = end.EndRanges(b.of)
	}
	made := []Kernel{b.kernel(end, b.bufs)}
	if b.while != nil && b.batch > 1 {
		made = append(made, b.anyKernel())
	}
	return made
}

// anyKernel builds the kernel that computes whether any while loop of a batch continues.
func (b *registerLoop) anyKernel() Kernel {
	at := b.number(b.while.number).Add(b.of.Mul(b.number(b.s.Slots[b.while.slot].Size / b.batch)))
	each := b.g.Range(uop.N(b.batch), uop.AxisReduceT, 0)
	from, to := b.g.Import(b.like[b.while.slot]).WithArg(uop.Num(1)), b.g.Import(b.like[b.l.While]).WithArg(uop.Num(0))
	flag := from.IndexBy(symbolic.Simplify(rewrite.Substitute(at, rewrite.Map{b.of: each}))).Cast(uop.Int32)
	found := b.g.New(uop.Reduce, uop.Int32, []*uop.UOp{flag, each}, uop.OpArg(uop.Max), nil).Ne(b.g.Const(uop.Int32, uop.Int(0)))
	return b.kernel(to.IndexPtr(b.number(0)).Store(found), []int{b.l.While, b.while.slot})
}

func (b *registerLoop) kernel(end *uop.UOp, bufs []int) Kernel {
	k := Kernel{AST: b.g.Sink(b.s.Kernels[b.l.First].AST.Arg, end), Bufs: bufs}
	for _, u := range k.AST.Toposort() {
		if u.Op == uop.DefineVar {
			k.Vars = append(k.Vars, u)
		}
	}
	SortVars(k.Vars)
	return k
}
