package opt

import (
	"cmp"
	"slices"

	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// Apply optimises a kernel: with the choices in its KernelInfo, or those of the heuristics. A tagged kernel was optimised before.
func Apply(ast *uop.UOp, m Machine) (*uop.UOp, error) {
	if ast.Tag != nil {
		return ast, nil
	}
	k := NewScheduler(ast, m)
	k.makeGlobal()
	info, _ := ast.Arg.(uop.KernelInfo)
	switch {
	case info.HasOpts:
		for _, o := range info.OptsToApply {
			if err := k.Apply(o); err != nil {
				return nil, err
			}
		}
	case !m.Plain && !ast.HasOp(uop.Ops(uop.Prefix)) && len(info.AppliedOpts) == 0 && !ast.HasOp(uop.Ops(uop.Bufferize)):
		if err := k.handCoded(); err != nil {
			return nil, err
		}
	}
	name := info.Name
	if name == "test" {
		name = ""
	}
	return k.Finish(name), nil
}

// The limits of the heuristics. They are tinygrad's.
const (
	maskedAxisMax   = 7    // a masked axis up to this size is vectorized
	maskedTotalMax  = 49   // … as long as their product stays below this
	upcastWorkMin   = 1024 // outputs left in each loop before loads are reused
	upcastTotalMax  = 32   // limit of values per iteration for reuse
	unrollWholeMax  = 32   // a reduction up to this size is unrolled completely
	unrollTotalMax  = 64   // values per iteration beyond which reductions stay loops
	opsPerThread    = 128 << 10
	groupOutputsMax = 2048
	groupItemsMax   = 128 // work items of a group
)

// handCoded makes the choices that pay for most kernels.
func (k *Scheduler) handCoded() error {
	if k.groupReduce() {
		return nil
	}
	for _, step := range []func() error{k.upcastMasked, k.upcastForReuse, k.unrollReduce, k.upcastLast, k.makeGroups, k.spreadThreads} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// groupReduce lets the threads of a group share a reduction with few outputs.
func (k *Scheduler) groupReduce() bool {
	out := int64(1)
	for _, i := range k.upcastable() {
		out *= k.num(i)
	}
	if out <= groupOutputsMax {
		for axis := range 3 {
			if k.Apply(uop.Opt{Op: uop.OptGroupTop, Axis: axis, Arg: 16}) == nil {
				return true
			}
		}
	}
	return false
}

// upcastMasked vectorizes small axes that conditions depend on (from stack and pad), which resolves the conditions.
func (k *Scheduler) upcastMasked() error {
	var wheres []map[*uop.UOp]struct{}
	for _, u := range k.ast.BackwardSlice() {
		if u.Op == uop.Where {
			wheres = append(wheres, u.Src[0].BackwardSliceSet())
		}
	}
	var axes []int
	total := int64(1)
	for _, i := range k.upcastable() {
		n := k.num(i)
		masked := slices.ContainsFunc(wheres, func(below map[*uop.UOp]struct{}) bool { _, ok := below[k.Ranges()[i]]; return ok })
		if n <= maskedAxisMax && masked && total*n <= maskedTotalMax {
			axes = append(axes, i)
			total *= n
		}
	}
	for _, i := range slices.Backward(axes) {
		if err := k.Apply(uop.Opt{Op: uop.OptUpcast, Axis: i}); err != nil {
			return err
		}
	}
	return nil
}

// choice is a candidate for reuse of loads: fewer and smaller strides come first.
type choice struct {
	strides int
	sum     int64
	axis    int
	amount  int
}

func (a choice) compare(b choice) int {
	switch {
	case a.strides != b.strides:
		return a.strides - b.strides
	case a.sum != b.sum:
		if a.sum < b.sum {
			return -1
		}
		return 1
	case a.axis != b.axis:
		return a.axis - b.axis
	}
	return a.amount - b.amount
}

// upcastForReuse vectorizes an axis that some buffer does not depend on, so one load serves several outputs.
func (k *Scheduler) upcastForReuse() error {
	done := map[int]bool{}
	for k.product(k.upcastable()) >= upcastWorkMin && k.upcastSize() < upcastTotalMax {
		cs := k.reuseChoices(done)
		if len(cs) == 0 {
			return nil
		}
		best := slices.MinFunc(cs, choice.compare)
		if err := k.Apply(uop.Opt{Op: uop.OptUpcast, Axis: best.axis, Arg: best.amount}); err != nil {
			return err
		}
		done[best.axis] = true
	}
	return nil
}

func (k *Scheduler) reuseChoices(done map[int]bool) []choice {
	type access struct {
		idx   *uop.UOp
		below map[*uop.UOp]struct{}
	}
	var bufs []access
	for _, b := range k.bufs() {
		idx := b.Src[1].GetIdx()
		bufs = append(bufs, access{idx, idx.BackwardSliceSet()})
	}
	up := k.rangesOf(uop.AxisUpcast, uop.AxisUnroll)
	var out []choice
	for _, axis := range k.upcastable() {
		for _, amount := range []int{3, 4} {
			if done[axis] || k.num(axis)%int64(amount) != 0 {
				continue
			}
			rng := k.Ranges()[axis]
			reused := slices.ContainsFunc(bufs, func(b access) bool {
				if _, ok := b.below[rng]; ok {
					return false
				}
				return !slices.ContainsFunc(up, func(r *uop.UOp) bool { _, ok := b.below[r]; return !ok })
			})
			if !reused {
				continue
			}
			c := choice{axis: axis, amount: amount}
			for _, b := range bufs {
				if _, ok := b.below[rng]; ok {
					c.strides++
				}
				c.sum += strideSum(b.idx, rng)
			}
			out = append(out, c)
		}
	}
	return out
}

// strideSum is the sum of the strides of rng in an index.
func strideSum(idx, rng *uop.UOp) int64 {
	sum := int64(0)
	for _, c := range idx.SplitUOp(uop.Add) {
		switch {
		case c == rng:
			sum++
		case c.Op == uop.Mul && c.Src[0] == rng && c.Src[1].Op == uop.ConstOp:
			sum += c.Src[1].ConstVal().I()
		case c.Op == uop.Mul && c.Src[1] == rng && c.Src[0].Op == uop.ConstOp:
			sum += c.Src[0].ConstVal().I()
		}
	}
	return sum
}

// unrollReduce unrolls the innermost reduction: completely if it is small, else by 4. A kernel that does not allow it (reductions
// of different sizes) is left alone.
func (k *Scheduler) unrollReduce() error {
	dims := k.unrollable()
	if len(dims) == 0 || k.upcastSize() >= unrollTotalMax || k.upcastSize() > 4 && len(k.axes(uop.AxisUnroll)) > 0 {
		return nil
	}
	last := func() uop.Opt { return uop.Opt{Op: uop.OptUnroll, Axis: len(k.unrollable()) - 1} }
	n := k.num(dims[len(dims)-1])
	if n > unrollWholeMax {
		if n%4 == 0 {
			o := last()
			o.Arg = 4
			_ = k.Apply(o)
		}
		return nil
	}
	if k.Apply(last()) != nil {
		return nil
	}
	if dims := k.unrollable(); len(dims) > 0 && n <= 3 && k.num(dims[len(dims)-1]) <= 3 {
		_ = k.Apply(last())
	}
	return nil
}

// upcastLast vectorizes the last axis by 4 if nothing else is vectorized.
func (k *Scheduler) upcastLast() error {
	dims := k.upcastable()
	if len(k.axes(uop.AxisUpcast, uop.AxisUnroll)) > 0 || len(dims) == 0 {
		return nil
	}
	if last := dims[len(dims)-1]; k.num(last)%4 == 0 {
		return k.Apply(uop.Opt{Op: uop.OptUpcast, Axis: last, Arg: 4})
	}
	return nil
}

// makeGroups splits up to three output loops over the work items of a group: first the loops that the index of some buffer does not depend on, and of
// those the innermost.
func (k *Scheduler) makeGroups() error {
	if k.m.Groups == nil || k.noLocal {
		return nil
	}
	axes := slices.DeleteFunc(k.axes(uop.AxisGlobal, uop.AxisLoop), func(i int) bool { return k.size(i).Symbolic() })
	shared := func(i int) int {
		if slices.ContainsFunc(k.bufs(), func(b *uop.UOp) bool { return !b.Src[1].GetIdx().DependsOn(k.Ranges()[i]) }) {
			return 0
		}
		return 1
	}
	slices.SortFunc(axes, func(a, b int) int { return cmp.Or(shared(a)-shared(b), b-a) })
	items := int64(1)
	var chosen []uop.Opt
	for _, i := range axes {
		for _, n := range []int64{32, 16, 8, 4, 3, 2} {
			if (n < 32 || i == 0) && k.num(i)%n == 0 && items*n <= min(groupItemsMax, k.m.Groups.Items) && len(chosen) < 3 {
				items *= n
				chosen = append(chosen, uop.Opt{Op: uop.OptLocal, Axis: i, Arg: int(n)})
				break
			}
		}
	}
	slices.SortFunc(chosen, func(a, b uop.Opt) int { return a.Axis - b.Axis })
	gone := 0
	for _, o := range chosen {
		o.Axis -= gone
		if int64(o.Arg) == k.num(o.Axis) {
			gone++ // the loop has only one iteration left
		}
		if err := k.Apply(o); err != nil {
			return err
		}
	}
	return nil
}

// spreadThreads splits the first possible loop over threads, if there is work for them.
func (k *Scheduler) spreadThreads() error {
	for _, t := range []int{32, 16, 12, 8, 6, 5, 4, 3, 2} {
		if t > k.m.Threads || k.workBelow(int64(t)) {
			continue
		}
		for _, i := range k.axes(uop.AxisLoop) {
			if s := k.size(i); !s.Symbolic() && s.N%int64(t) == 0 {
				if k.Apply(uop.Opt{Op: uop.OptThread, Axis: i, Arg: t}) == nil {
					return nil
				}
				break
			}
		}
	}
	return nil
}

// workBelow reports whether t threads would get too little work each; for symbolic sizes, whether they may.
func (k *Scheduler) workBelow(t int64) bool {
	work := uop.N(1)
	for i := range k.Ranges() {
		work = work.Mul(k.size(i))
	}
	per := work.Div(uop.N(opsPerThread))
	if !per.Symbolic() {
		return per.N < t
	}
	lo, hi := symbolic.Simplify(per.U.LtInt(t)).Bounds()
	return !lo.Eq(hi) || lo.Truth()
}
