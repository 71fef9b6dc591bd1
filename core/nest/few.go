package nest

import (
	"slices"

	"polygrad/core/nest/analysis"
	"polygrad/core/uop"
)

// mostFew is how many rows are few. What the rows of a product share is packed for many of them, which takes longer than
// the products of a few.
const mostFew = 6

// Few is a kernel for at most so many of its rows, whose number is a variable.
type Few struct {
	List     []*uop.UOp
	Variable string
	Most     int64
}

// ForFew is the kernel of a list for few rows, nil if it needs no other one than for many: no variable is the number of its
// rows, or these share nothing that a reduction reads.
func ForFew(list []*uop.UOp) *Few {
	if !slices.ContainsFunc(list, func(u *uop.UOp) bool { return u.Op == uop.DefineVar }) {
		return nil
	}
	f, err := analysis.New(list)
	if err != nil {
		return nil
	}
	v := variableRows(f, f.Tree)
	if v == nil {
		return nil
	}
	a := v.Arg.(uop.VarArg)
	if lo, ok := a.Min.Int64(); !ok || lo > mostFew {
		return nil
	}
	to := make(map[*uop.UOp]*uop.UOp, len(list))
	few := make([]*uop.UOp, len(list))
	for i, u := range list {
		src := slices.Clone(u.Src)
		for j, s := range src {
			if t := to[s]; t != nil {
				src[j] = t
			}
		}
		if to[u] = u.With(src...); u == v {
			to[u] = u.WithArg(uop.VarArg{Name: a.Name, Min: a.Min, Max: uop.Int(mostFew)})
		}
		few[i] = to[u]
	}
	return &Few{few, a.Name, mostFew}
}

// variableRows is the variable that is the number of iterations of a loop in a region around reductions that read the same
// elements in each of them, nil for none.
func variableRows(f *analysis.Facts, r *analysis.Region) *uop.UOp {
	for _, in := range r.Loops() {
		if !in.Writes {
			continue
		}
		v := in.Rng.Src[0]
		for v.Op == uop.Cast {
			v = v.Src[0]
		}
		if v.Op == uop.DefineVar && in.Bound() > 4*mostFew && in.Collects() {
			byRow := f.Slopes(in.Rng)
			for _, a := range in.Accesses(1, nil) {
				if a.Times > 1 && a.U.Op == uop.Load && !byRow.Of(a.U.Src[0]).Depends {
					return v
				}
			}
		}
		if v := variableRows(f, in); v != nil {
			return v
		}
	}
	return nil
}
