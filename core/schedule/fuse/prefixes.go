package fuse

import (
	"slices"

	"polygrad/core/uop"
)

const (
	// prefixRows is the least number of rows of a running reduction that occupies the threads and hides the latency of its operations.
	prefixRows = 64
	// minPrefixPart is the shortest part of a row.
	minPrefixPart = 64
	// invocationPart is the length of the part of an invocation of a GPU, invocationRows the number of rows that occupy the GPU.
	invocationPart, invocationRows = 32, 1 << 15
)

// splitPrefixes parallelises running reductions of few long rows: it splits rows into parts and reduces each part; the running reduction of
// the results gives each part its initial value, and all parts then run in parallel.
func splitPrefixes(root *uop.UOp, o Options) *uop.UOp {
	order := root.Toposort()
	if !slices.ContainsFunc(order, func(u *uop.UOp) bool { return u.Op == uop.PrefixAxis }) {
		return root
	}
	t := newImages()
	for _, u := range order {
		to := rebuilt(u, t)
		if to.Op == uop.PrefixAxis {
			to = splitPrefix(to, o)
		}
		t.set(u, to)
	}
	out := t.get(root)
	t.reset()
	return out
}

// onePass reports whether rows are not split. Parts read all operands twice, so that a single thread is faster without them if a step takes little
// longer than its load and store: maxima and sums. Sums of floats are split nevertheless, as their bits must not depend on the number of threads.
func onePass(a uop.PrefixArg, dt *uop.DType, o Options) bool {
	const lanes = 4 // the least number for maxima
	exact := a.Op == uop.Add && !dt.IsFloat() || a.Op == uop.Max && 4*o.Machine.Lanes/dt.Itemsize() >= lanes
	return exact && o.Machine.Threads == 1 && !o.Invocations
}

// prefixParts is the number and the length of the parts of a row of a running reduction: a divisor of its length if there is one, else the
// last part is padded.
func prefixParts(u *uop.UOp, o Options) (parts, length int64) {
	a := u.Arg.(uop.PrefixArg)
	n, numbers := u.Shape().Ints()
	if !numbers || len(u.Src) > a.Operands() || onePass(a, u.DType, o) {
		return 1, 0
	}
	rows := int64(1)
	for i, d := range n {
		if i != a.Axis {
			rows *= d
		}
	}
	long := n[a.Axis]
	least := (prefixRows + rows - 1) / max(rows, 1)
	if o.Invocations {
		least = min(long/invocationPart, invocationRows/max(rows, 1))
		if rows == 0 || least < 2 {
			return 1, long
		}
		return least, (long + least - 1) / least
	}
	if rows == 0 || least < 2 || long < minPrefixPart*least {
		return 1, long
	}
	for parts = least; parts < 16*least && parts*minPrefixPart <= long; parts++ {
		if long%parts == 0 {
			return parts, long / parts
		}
	}
	return least, (long + least - 1) / least
}

// splitPrefix splits the rows of a running reduction into parts, if that pays. Parts are short on a GPU, where the running reduction of many
// parts is split again.
func splitPrefix(u *uop.UOp, o Options) *uop.UOp {
	parts, length := prefixParts(u, o)
	if parts < 2 {
		return u
	}
	a := u.Arg.(uop.PrefixArg)
	shape := u.Shape()
	cut := slices.Insert(slices.Clone(shape), a.Axis, uop.N(parts))
	cut[a.Axis+1] = uop.N(length)
	added := parts*length - shape[a.Axis].N
	inner := uop.PrefixArg{Op: a.Op, Axis: a.Axis + 1, Reverse: a.Reverse}
	operands := make([]*uop.UOp, a.Operands())
	for i, s := range u.Src {
		// The padding is after the end of a row, where nothing reads it, or before its start in reverse, where it must be neutral.
		operands[i] = padEnd(s, a.Axis, added, a.Identity(s.DType)).Reshape(cut)
		if a.Op == uop.MulAcc && i == 0 {
			operands[i] = padEnd(s, a.Axis, added, uop.IdentityElement(uop.Mul, s.DType)).Reshape(cut)
		}
	}
	outer := a
	total := []*uop.UOp{operands[0].ReduceAxes(a.Op, a.Axis+1)}
	if a.Op == uop.MulAcc {
		last := length - 1
		if a.Reverse {
			last = 0
		}
		keep := wholeOf(cut)
		keep[a.Axis+1] = uop.Pair{Lo: uop.N(last), Hi: uop.N(last + 1)}
		total = []*uop.UOp{operands[0].ReduceAxes(uop.Mul, a.Axis+1), operands[0].PrefixAlong(inner, operands[1]).Shrink(keep)}
	}
	through := total[0].PrefixAlong(outer, total[1:]...)
	if o.Invocations {
		through = splitPrefix(through, o)
	}
	initial := through.NeighbourAlong(outer, -1, a.Identity(u.DType)).Expand(cut)
	y := operands[0].PrefixAlong(inner, append(operands[1:], initial)...)
	y = y.Reshape(slices.Replace(slices.Clone(shape), a.Axis, a.Axis+1, uop.N(parts*length)))
	keep := wholeOf(shape)
	return y.Shrink(keep)
}

func wholeOf(s uop.Shape) []uop.Pair {
	out := make([]uop.Pair, len(s))
	for i, d := range s {
		out[i] = uop.Pair{Lo: uop.N(0), Hi: d}
	}
	return out
}

// padEnd pads an axis at its end.
func padEnd(v *uop.UOp, axis int, by int64, value uop.Const) *uop.UOp {
	if by == 0 {
		return v
	}
	pads := make([]uop.Pair, len(v.Shape()))
	for i := range pads {
		pads[i] = uop.Pair{Lo: uop.N(0), Hi: uop.N(0)}
	}
	pads[axis].Hi = uop.N(by)
	return v.PadWith(pads, value)
}
