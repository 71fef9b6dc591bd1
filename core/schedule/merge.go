package schedule

import (
	"fmt"
	"slices"

	"polygrad/core/uop"
)

// A loop over few elements takes less time than the launches of its kernels, so it becomes one kernel, in which its iterations run in
// order, and the loops of the kernels one after the other.

// Bounds of the elements that an iteration of such a kernel computes, as it runs on one thread, and of its buffers.
const (
	maxMerged        = 1 << 14
	maxMergedBuffers = 8
)

// merged is a kernel that does what a loop of kernels does, nil with the reason if they had better stay apart.
func (s *Schedule) merged(l Loop) (merged *Kernel, reason string) {
	kernels := s.Kernels[l.First:l.Last]
	written := map[int]bool{}
	work := int64(0)
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
			case uop.Store:
				written[k.Bufs[int(u.Src[0].Src[0].Arg.(uop.Num))]] = true
				work += volume(u)
			case uop.Reduce:
				work += volume(u.Src[0])
			case uop.Bufferize:
				work += volume(u.Src[0])
			case uop.Index:
				if u.Src[0].Op != uop.Param && u.Src[0].Op != uop.Bufferize {
					return nil, "a kernel has memory of its own"
				}
			case uop.After, uop.DefineLocal, uop.DefineReg, uop.Prefix:
				return nil, fmt.Sprintf("a kernel has a %s", u.Op)
			}
		}
	}
	if work > maxMerged {
		return nil, fmt.Sprintf("%d elements in an iteration, limit %d", work, maxMerged)
	}
	merged = &Kernel{}
	g := kernels[0].AST.Graph().Scratch()
	i := g.Range(uop.N(l.Count), uop.AxisPrefix, 0)
	ranges := 1
	var ends []*uop.UOp
	for _, k := range kernels {
		m := map[*uop.UOp]*uop.UOp{}
		for _, u := range g.Import(k.AST).Toposort() {
			switch {
			case u.Op == uop.Range:
				m[u] = u.WithArg(uop.RangeArg{ID: []int{ranges}, Type: u.RangeID().Type})
				ranges++
			case u.Op == uop.DefineVar && u.Arg.(uop.VarArg).Name == l.Variable.Name:
				m[u] = i.Cast(u.DType)
			case u.Op == uop.Param:
				slot := k.Bufs[int(u.Arg.(uop.Num))]
				n := slices.Index(merged.Bufs, slot)
				if n < 0 {
					n = len(merged.Bufs)
					merged.Bufs = append(merged.Bufs, slot)
				}
				m[u] = u.WithArg(uop.Num(n))
				if written[slot] {
					m[u] = m[u].AfterOps(append([]*uop.UOp{i}, ends...)...)
				}
			default:
				src := make([]*uop.UOp, len(u.Src))
				for j, s := range u.Src {
					src[j] = m[s]
				}
				m[u] = u.With(src...)
				if u.Op == uop.Sink {
					ends = m[u].Src
					merged.AST = m[u]
				}
			}
		}
	}
	merged.AST = merged.AST.With(g.Group(ends...).EndRanges(i))
	for _, u := range merged.AST.Toposort() {
		if u.Op == uop.DefineVar {
			merged.Vars = append(merged.Vars, u)
		}
	}
	SortVars(merged.Vars)
	if n := len(merged.Bufs); n > maxMergedBuffers {
		return nil, fmt.Sprintf("%d buffers, limit %d", n, maxMergedBuffers)
	}
	return merged, ""
}

// volume is how often a value is computed.
func volume(u *uop.UOp) int64 {
	n := int64(1)
	for _, r := range u.Ranges() {
		n *= r.Src[0].ConstVal().I()
	}
	return n
}

// isPlainLoop reports whether a RANGE has a fixed length and no order.
func isPlainLoop(u *uop.UOp) bool {
	id := u.RangeID()
	return u.Src[0].Op == uop.ConstOp && len(id.ID) == 1 && (id.Type == uop.AxisLoop || id.Type == uop.AxisReduceT)
}
