package interp

import (
	"fmt"

	"polygrad/core/lower"
	"polygrad/core/uop"
)

type compiler struct {
	k     *Kernel
	slot  map[*uop.UOp]int
	start map[*uop.UOp]int // position of a RANGE or IF
	end   map[*uop.UOp]int // position of the END or ENDIF of a RANGE or IF
}

// match pairs the heads of loops and conditions with their ends.
func (c *compiler) match(list []*uop.UOp) {
	c.end = map[*uop.UOp]int{}
	for i, u := range list {
		switch u.Op {
		case uop.Range, uop.If:
			c.start[u] = i
		case uop.End:
			c.end[u.Src[1]] = i
		case uop.EndIf:
			c.end[u.Src[0]] = i
		}
	}
}

func next(_ *frame, pc int) int { return pc + 1 }

func (c *compiler) compile(i int, u *uop.UOp) (step, error) {
	d := c.slot[u]
	switch u.Op {
	case uop.Param:
		return c.param(d, u), nil
	case uop.DefineReg, uop.DefineLocal:
		c.k.arrays = append(c.k.arrays, array{d, u.DType.Base(), u.DType.Size, u.Op == uop.DefineLocal})
		return next, nil
	case uop.Special:
		item, dim := u.LaunchIndex()
		n := dim
		if !item {
			n += 3
		}
		c.k.launch = append(c.k.launch, launchDim{n, c.slot[u.Src[0]]})
		for _, x := range u.Src[0].Toposort() {
			c.k.sizes = append(c.k.sizes, c.slot[x])
		}
		return func(f *frame, pc int) int { f.vals[d][0].i = f.at[n]; return pc + 1 }, nil
	case uop.Barrier:
		return func(f *frame, pc int) int { f.waits = true; return pc + 1 }, nil
	case uop.DefineVar:
		if v := u.Arg.(uop.VarArg); v.Name == lower.ThreadVar {
			c.k.thread, c.k.threads = d, int(v.Max.I())+1
			return next, nil
		}
		n := c.k.nvars
		c.k.nvars++
		return func(f *frame, pc int) int { f.vals[d][0].i = f.vars[n]; return pc + 1 }, nil
	case uop.ConstOp, uop.VConstOp:
		return constant(d, u), nil
	case uop.Range:
		size := c.slot[u.Src[0]]
		end, ok := c.end[u]
		if !ok {
			return nil, fmt.Errorf("RANGE %s has no END", u.Arg)
		}
		return func(f *frame, pc int) int {
			f.vals[d][0].i = 0
			if f.vals[size][0].i <= 0 {
				return end + 1
			}
			return pc + 1
		}, nil
	case uop.End:
		r := u.Src[1]
		rd, size, head := c.slot[r], c.slot[r.Src[0]], c.start[r]
		return func(f *frame, pc int) int {
			f.vals[rd][0].i++
			if f.vals[rd][0].i < f.vals[size][0].i {
				return head + 1
			}
			return pc + 1
		}, nil
	case uop.If:
		cond, end := c.slot[u.Src[0]], c.end[u]
		return func(f *frame, pc int) int {
			if f.vals[cond][0].i == 0 {
				return end + 1
			}
			return pc + 1
		}, nil
	case uop.EndIf, uop.Sink, uop.Group, uop.Noop:
		return next, nil
	case uop.After:
		s := c.slot[u.Src[0]]
		return func(f *frame, pc int) int {
			f.ptrs[d] = f.ptrs[s]
			copy(f.vals[d], f.vals[s])
			return pc + 1
		}, nil
	case uop.Index:
		return c.index(d, u), nil
	case uop.Load:
		return c.load(d, u), nil
	case uop.Store:
		return c.store(u), nil
	case uop.Vectorize:
		src := c.slots(u.Src)
		return func(f *frame, pc int) int {
			for j, s := range src {
				f.vals[d][j] = f.vals[s][0]
			}
			return pc + 1
		}, nil
	case uop.Cat:
		src := c.slots(u.Src)
		return func(f *frame, pc int) int {
			out := f.vals[d][:0]
			for _, s := range src {
				out = append(out, f.vals[s]...)
			}
			return pc + 1
		}, nil
	case uop.Gep:
		s, sel := c.slot[u.Src[0]], []int(u.Arg.(uop.Nums))
		return func(f *frame, pc int) int {
			for j, n := range sel {
				f.vals[d][j] = f.vals[s][n]
			}
			return pc + 1
		}, nil
	case uop.Cast:
		if u.DType.IsPtr() {
			return c.pointerCast(d, u), nil
		}
		return c.convert(d, u, castFn(u.Src[0].DType.Scalar(), u.DType.Scalar())), nil
	case uop.Bitcast:
		return c.convert(d, u, bitcastFn(u.Src[0].DType.Scalar(), u.DType.Scalar())), nil
	}
	if uop.GroupALU.Has(u.Op) {
		return c.alu(d, u)
	}
	return nil, fmt.Errorf("position %d: cannot run %s", i, u)
}

func (c *compiler) slots(us []*uop.UOp) []int {
	out := make([]int, len(us))
	for i, u := range us {
		out[i] = c.slot[u]
	}
	return out
}

func (c *compiler) param(d int, u *uop.UOp) step {
	n := c.k.nbufs
	c.k.nbufs++
	elem, size := u.DType.Base(), u.DType.Size
	return func(f *frame, pc int) int {
		f.ptrs[d] = pointer{base: f.bufs[n], size: size, elem: elem, live: true}
		return pc + 1
	}
}

func constant(d int, u *uop.UOp) step {
	n := max(1, u.DType.VCount())
	vals := make([]value, n)
	for j := range vals {
		cv := uop.Const{}
		if u.Op == uop.ConstOp {
			cv = u.ConstVal()
		} else {
			cv = u.Arg.(uop.Consts)[j]
		}
		vals[j] = fromConst(cv, u.DType.Scalar())
	}
	return func(f *frame, pc int) int { copy(f.vals[d], vals); return pc + 1 }
}

// index computes a pointer; a third source is its gate.
func (c *compiler) index(d int, u *uop.UOp) step {
	b, i, gate := c.slot[u.Src[0]], c.slot[u.Src[1]], -1
	if len(u.Src) > 2 {
		gate = c.slot[u.Src[2]]
	}
	return func(f *frame, pc int) int {
		p := f.ptrs[b]
		p.off += f.vals[i][0].i
		if gate >= 0 && f.vals[gate][0].i == 0 {
			p.live = false
		}
		f.ptrs[d] = p
		return pc + 1
	}
}

func (c *compiler) pointerCast(d int, u *uop.UOp) step {
	s := c.slot[u.Src[0]]
	return func(f *frame, pc int) int { f.ptrs[d] = f.ptrs[s]; return pc + 1 }
}

func (f *frame) check(p pointer, n int) bool {
	if p.off < 0 || p.off+int64(n) > p.size {
		f.err = fmt.Errorf("access to elements %d..%d of an array of %d %s", p.off, p.off+int64(n)-1, p.size, p.elem)
		return false
	}
	return true
}

func (c *compiler) load(d int, u *uop.UOp) step {
	p, alt, n := c.slot[u.Src[0]], -1, max(1, u.DType.VCount())
	if len(u.Src) > 1 && u.Src[1].DType != uop.Void && !u.Src[1].DType.IsBool() || len(u.Src) > 1 && u.DType.IsBool() {
		alt = c.slot[u.Src[1]]
	}
	rd := reader(u.DType.Scalar())
	size := int64(u.DType.Scalar().Itemsize())
	return func(f *frame, pc int) int {
		ptr := f.ptrs[p]
		switch {
		case !ptr.live && alt >= 0:
			copy(f.vals[d], f.vals[alt])
		case !ptr.live:
			clear(f.vals[d])
		case f.check(ptr, n):
			for j := range n {
				f.vals[d][j] = rd(ptr.base, (ptr.off+int64(j))*size)
			}
		}
		return pc + 1
	}
}

func (c *compiler) store(u *uop.UOp) step {
	p, v := c.slot[u.Src[0]], c.slot[u.Src[1]]
	dt := u.Src[1].DType
	n, wr, size := max(1, dt.VCount()), writer(dt.Scalar()), int64(dt.Scalar().Itemsize())
	gate := -1
	if len(u.Src) > 2 && u.Src[2].DType == uop.Bool {
		gate = c.slot[u.Src[2]]
	}
	return func(f *frame, pc int) int {
		ptr := f.ptrs[p]
		if ptr.live && (gate < 0 || f.vals[gate][0].i != 0) && f.check(ptr, n) {
			for j := range n {
				wr(ptr.base, (ptr.off+int64(j))*size, f.vals[v][j])
			}
		}
		return pc + 1
	}
}

func (c *compiler) convert(d int, u *uop.UOp, fn func(value) value) step {
	s, n := c.slot[u.Src[0]], max(1, u.DType.VCount())
	return func(f *frame, pc int) int {
		for j := range n {
			f.vals[d][j] = fn(f.vals[s][j])
		}
		return pc + 1
	}
}
