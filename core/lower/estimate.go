package lower

import (
	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// Estimates are the work of one run of a kernel. Sizes that depend on variables count with their maximum.
type Estimates struct {
	// Ops is the number of arithmetic operations, without indexing.
	Ops int64
	// Loads is the number of bytes loaded and stored, counted each time; Memory counts each byte of a buffer once.
	Loads, Memory int64
}

// Estimate counts the work of a linear list.
func Estimate(list []*uop.UOp) Estimates {
	var e Estimates
	indexing := indexingNodes(list)
	type access struct {
		buf *uop.UOp
		op  uop.Op
	}
	touched := map[access]int64{}
	times := int64(1)
	var outer []int64
	for _, u := range list {
		if u.Op == uop.Load || u.Op == uop.Store {
			if buf := bottom(u); buf.Op == uop.Param {
				k := access{buf, u.Op}
				touched[k] += int64(u.Src[0].DType.Base().Itemsize()) * times
				if n := buf.DType.Size; n >= 0 {
					touched[k] = min(touched[k], n*int64(buf.DType.Itemsize()))
				}
			}
		}
		switch {
		case u.Op == uop.Range:
			outer = append(outer, times)
			times *= symbolic.Simplify(u.Src[0]).Vmax().I()
		case u.Op == uop.End:
			times, outer = outer[len(outer)-1], outer[:len(outer)-1]
		case isThreadVar(u):
			times *= u.Vmax().I() + 1
		case u.Op == uop.Load && u.Src[0].DType.Space != uop.Reg:
			e.Loads += int64(u.DType.Itemsize()) * times
		case u.Op == uop.Store && u.Src[0].DType.Space != uop.Reg:
			e.Loads += int64(u.Src[1].DType.Itemsize()) * times
		case uop.GroupALU.Has(u.Op) && !indexing[u]:
			n := int64(u.DType.Count) * times
			if u.Op == uop.MulAcc {
				n *= 2
			}
			e.Ops += n
		}
	}
	for _, n := range touched {
		e.Memory += n
	}
	return e
}

func isThreadVar(u *uop.UOp) bool {
	v, ok := u.Arg.(uop.VarArg)
	return ok && u.Op == uop.DefineVar && v.Name == ThreadVar
}

// bottom is the leaf that is reached by following the first source of each node.
func bottom(u *uop.UOp) *uop.UOp {
	for len(u.Src) > 0 {
		u = u.Src[0]
	}
	return u
}

// indexingNodes are the nodes that only compute addresses and gates of accesses.
func indexingNodes(list []*uop.UOp) map[*uop.UOp]bool {
	seen := map[*uop.UOp]bool{}
	notRange := func(x *uop.UOp) bool { return x.Op != uop.Range }
	mark := func(u *uop.UOp, gate func(*uop.UOp) bool) {
		for _, x := range u.ToposortGated(gate) {
			seen[x] = true
		}
	}
	for _, u := range list {
		switch {
		case (u.Op == uop.Load || u.Op == uop.Store) && u.Src[0].Op == uop.Index:
			for _, s := range u.Src[0].Src[1:] {
				mark(s, notRange)
			}
		case u.Op == uop.Load || u.Op == uop.Store:
			mark(u.Src[0], notRange)
		case u.Op == uop.If:
			mark(u.Src[0], nil)
		}
		if (u.Op == uop.Load || u.Op == uop.Store) && len(u.Src) > 2 {
			mark(u.Src[2], nil)
		}
	}
	return seen
}

// Estimate counts the work of the program, of all its threads together.
func (p *Program) Estimate() Estimates { return Estimate(p.Linear) }
