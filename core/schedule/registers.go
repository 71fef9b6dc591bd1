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

// A loop over a state of few numbers becomes one kernel that keeps them in registers: its body is the statements of an iteration, one
// element after another. Many such loops side by side, those of a batch, are the iterations of a loop around it, hence lanes of vectors
// and work of several threads; each has to compute its elements from its own ones.

// Bounds of such a kernel: the numbers of an iteration that are kept, and the operations of it.
const (
	maxRegisters  = 96
	maxOperations = 2048
)

// Costs in cycles: of an operation on a scalar or a vector, and of a loop over elements in a kernel, with the latency of what it computes.
const (
	cyclesPerOperation    = 0.5
	cyclesPerLoop         = 40
	lanesOfVectors        = 8
	operationsPerDivision = 10 // of integers, which vectors do faster
	cyclesPerLaunch       = 16384
)

// Bounds of a launch of a loop in a kernel: mostSteps is that of the iterations of a while loop, of which those after the last one still cost a
// few cycles, mostCycles that of the work of other loops, as nothing interrupts it. Cycles of chains of operations are estimated too low.
const (
	mostSteps  = 1024
	mostCycles = 1 << 23
)

// tell prints a decision for POLY_DUMP=fuse.
func (s *Schedule) tell(l Loop, form, reason string) {
	if settings.Dumps("fuse") {
		fmt.Fprintf(os.Stderr, "loop over %s of %d iterations, kernels %d to %d: %s: %s\n", l.Variable.Name, l.Count, l.First, l.Last-1, form, reason)
	}
}

// inRegisters are the kernels of a loop that keeps its state in registers, none with the reason if that is not possible. Slots that are
// private hold nothing after an iteration. The first kernel does some iterations, and the loop becomes one over its launches; the second one, of
// while loops side by side, computes whether any of them goes on.
func (s *Schedule) inRegisters(l *Loop, private func(slot int) bool) (made []Kernel, reason string) {
	kernels := s.Kernels[l.First:l.Last]
	b := &registers{s: s, l: *l, private: private, read: map[int]bool{}, written: map[int]bool{}, stored: map[int][]bool{}}
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
					continue // an address, or a condition of one
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
		// What is kept of each iteration goes to memory, which no other store changes.
		if b.kept(slot) && len(steps) > 1 {
			return nil, "memory of one iteration is written in several places"
		}
	}
	slices.Sort(trips)
	var reasons []string
	for _, batch := range slices.Backward(trips) {
		// Elements of one loop are computed one by one, which has to be less than what loops over them cost.
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

// registers is a kernel in the making.
type registers struct {
	s             *Schedule
	l             Loop
	private       func(slot int) bool
	read, written map[int]bool   // slots
	stored        map[int][]bool // whether the address of each store to a slot depends on the iteration

	g        *uop.Graph
	batch    int64
	launches Loop
	of       *uop.UOp // which loop of the batch
	// step is the loop over the iterations of a launch, iteration its number of all.
	step, iteration *uop.UOp
	// flags are slots of whether any of the while loops side by side goes on, and of what each of them has that in a loop of the batch.
	flags     map[int]*uop.UOp
	while     *register // whether the loop goes on, nil if its length is fixed
	bufs      []int
	params    []*uop.UOp
	registers []*register
	carried   []*register // from one iteration to the next
	at        map[place]*register
	stores    []*uop.UOp        // of what is kept of each iteration
	counted   map[*uop.UOp]bool // operations
	like      map[int]*uop.UOp  // PARAMs of slots
}

// place is an element of a slot: that of each loop of the batch.
type place struct {
	slot   int
	number int64
}

// register is such an element.
type register struct {
	place
	define        *uop.UOp
	first, before *uop.UOp // the store of its initial value, and the value before an iteration, nil if that is never read
	now           *uop.UOp
}

// refusal is why a loop is not kept in registers.
type refusal string

func refuse(format string, args ...any) { panic(refusal(fmt.Sprintf(format, args...))) }

func (b *registers) slotOf(k Kernel, index *uop.UOp) int {
	return k.Bufs[int(index.Src[0].Arg.(uop.Num))]
}

// run computes an iteration for a batch of loops; why is empty if that is possible.
func (b *registers) run(kernels []Kernel, batch int64, cycles float64) (why string) {
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

// findWhile finds the condition of a while loop among the state. Loops side by side go on as long as any of them does, so those that have
// ended must not change: then each may end for itself.
func (b *registers) findWhile() {
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

// add computes what a kernel stores.
func (b *registers) add(k Kernel) {
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
		across, n := b.across(k, stores, ranges)
		inner := slices.DeleteFunc(slices.Clone(ranges), func(r *uop.UOp) bool { return r == across })
		v := &values{b: b, k: k, at: map[*uop.UOp]*uop.UOp{}}
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
					b.flags[slot] = v.anywhere(st.Src[1])
					b.like[slot] = st.Src[0].Src[0]
					continue
				}
				index, value := v.of(st.Src[0].Src[1]), v.of(st.Src[1])
				b.like[slot] = st.Src[0].Src[0]
				if b.kept(slot) {
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

// across is the loop of a kernel that runs over the batch, and how many of its iterations each loop of the batch has.
func (b *registers) across(k Kernel, stores, ranges []*uop.UOp) (r *uop.UOp, n int64) {
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

// isFlag reports whether a slot is one bool for all of the while loops side by side.
func (b *registers) isFlag(slot int) bool {
	x := b.s.Slots[slot]
	return b.l.While >= 0 && b.batch > 1 && x.Size == 1 && x.DType.IsBool()
}

// strides reports whether n iterations of a range stand for one loop of the batch in the address of a store.
func (b *registers) strides(k Kernel, index, r *uop.UOp, n int64) bool {
	slot := b.slotOf(k, index)
	if b.kept(slot) {
		return true
	}
	size := b.s.Slots[slot].Size
	at := func(i int64) *uop.UOp {
		return symbolic.Simplify(rewrite.Substitute(index.Src[1], rewrite.Map{r: b.number(i)}))
	}
	d := symbolic.Simplify(at(n).Sub(at(0)))
	return size%b.batch == 0 && d.Op == uop.ConstOp && d.ConstVal().I() == size/b.batch
}

// kept reports whether a slot holds what is kept of each iteration.
func (b *registers) kept(slot int) bool {
	return !b.read[slot] && slices.Contains(b.stored[slot], true)
}

// isStep reports whether an address in a kernel depends on the iteration.
func (b *registers) isStep(index *uop.UOp) bool {
	return index.Find(func(u *uop.UOp) bool {
		return u.Op == uop.DefineVar && u.Arg.(uop.VarArg).Name == b.l.Variable.Name
	}) != nil
}

func (b *registers) number(n int64) *uop.UOp { return b.g.Const(uop.IndexT, uop.Int(n)) }

// register is the register of an element.
func (b *registers) register(slot int, index *uop.UOp, dt *uop.DType) *register {
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
func (b *registers) param(slot int, like *uop.UOp) *uop.UOp {
	i := slices.Index(b.bufs, slot)
	if i < 0 {
		i = len(b.bufs)
		b.bufs, b.params = append(b.bufs, slot), append(b.params, b.g.Import(like).WithArg(uop.Num(i)))
	}
	return b.params[i]
}

// values computes nodes of a kernel for some iteration of its loops.
type values struct {
	b  *registers
	k  Kernel
	at map[*uop.UOp]*uop.UOp
}

func (v *values) of(u *uop.UOp) *uop.UOp {
	if w, ok := v.at[u]; ok {
		return w
	}
	w := v.compute(u)
	v.at[u] = w
	return w
}

func (v *values) compute(u *uop.UOp) *uop.UOp {
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
		// The branch that is not taken may have no address.
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
	case i >= 0 && u.DType == uop.Bool && (u.Op == uop.And || u.Op == uop.Or): // a condition of an address and one of data
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
func (b *registers) count(u *uop.UOp) {
	if b.counted[u] = true; len(b.counted) > maxOperations {
		refuse("more than %d operations in an iteration", maxOperations)
	}
}

// load is an element: of the state what it is now, or of memory that does not change.
func (v *values) load(u *uop.UOp) *uop.UOp {
	b := v.b
	if u.Src[0].Op == uop.Bufferize {
		return v.again(u)
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

// again is an element of a row that a kernel keeps in memory of its own: it is computed where it is needed.
func (v *values) again(u *uop.UOp) *uop.UOp {
	inner := &values{b: v.b, k: v.k, at: map[*uop.UOp]*uop.UOp{}}
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

// load gives a register its value before the first iteration.
func (b *registers) load(r *register) {
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

// current is what a register holds in a loop.
func (b *registers) current(r *register, loops ...*uop.UOp) *uop.UOp {
	return r.define.AfterOps(append([]*uop.UOp{r.first}, loops...)...).IndexBy(b.g.Const(uop.Int32, uop.Int(0)))
}

// anywhere is, of a value that is computed from whether any loop of a batch goes on, the part of one loop.
func (v *values) anywhere(u *uop.UOp) *uop.UOp {
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
	each := &values{b: v.b, k: v.k, at: map[*uop.UOp]*uop.UOp{u.Src[1]: v.b.of}}
	return each.of(u.Src[0])
}

// reduce combines the terms of a reduction.
func (v *values) reduce(u *uop.UOp) (sum *uop.UOp) {
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

// kernels are the kernel of the loop and, of while loops side by side, that of whether any of them goes on.
func (b *registers) kernels() []Kernel {
	zero := b.g.Const(uop.Int32, uop.Int(0))
	loops, once := []*uop.UOp{b.step}, map[*uop.UOp]*uop.UOp{}
	if b.while != nil {
		loops = append(loops, unlessEnded(b.while.before, 2))
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
		// All of the state is read before any of it changes.
		body = append(body, r.define.AfterOps(append(slices.Clone(loops), before...)...).IndexBy(zero).Store(next[i]))
	}
	loop := endOf(b.g.Group(append(body, b.stores...)...), loops)
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

// anyKernel computes whether any of the while loops side by side goes on.
func (b *registers) anyKernel() Kernel {
	at := b.number(b.while.number).Add(b.of.Mul(b.number(b.s.Slots[b.while.slot].Size / b.batch)))
	each := b.g.Range(uop.N(b.batch), uop.AxisReduceT, 0)
	from, to := b.g.Import(b.like[b.while.slot]).WithArg(uop.Num(1)), b.g.Import(b.like[b.l.While]).WithArg(uop.Num(0))
	flag := from.IndexBy(symbolic.Simplify(rewrite.Substitute(at, rewrite.Map{b.of: each}))).Cast(uop.Int32)
	found := b.g.New(uop.Reduce, uop.Int32, []*uop.UOp{flag, each}, uop.OpArg(uop.Max), nil).Ne(b.g.Const(uop.Int32, uop.Int(0)))
	return b.kernel(to.IndexPtr(b.number(0)).Store(found), []int{b.l.While, b.while.slot})
}

func (b *registers) kernel(end *uop.UOp, bufs []int) Kernel {
	k := Kernel{AST: b.g.Sink(b.s.Kernels[b.l.First].AST.Arg, end), Bufs: bufs}
	for _, u := range k.AST.Toposort() {
		if u.Op == uop.DefineVar {
			k.Vars = append(k.Vars, u)
		}
	}
	SortVars(k.Vars)
	return k
}
