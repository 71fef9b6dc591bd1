package nest

import (
	"slices"

	"polygrad/core/nest/analysis"
	"polygrad/core/uop"
)

// maxFewRows is the largest number of rows for which a product has a kernel of its own: packing the operand that the rows share takes
// longer than the product of a few.
const maxFewRows = 6

// FewRows is the version of a kernel for at most Most rows, whose number is a variable.
type FewRows struct {
	List     []*uop.UOp
	Variable string
	Most     int64
}

// ForFewRows returns the version of a kernel for few rows, nil if it would be the same: the number of rows is not a variable, or the
// rows share no operand of a reduction.
func ForFewRows(list []*uop.UOp) *FewRows {
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
	if lo, ok := a.Min.Int64(); !ok || lo > maxFewRows {
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
			to[u] = u.WithArg(uop.VarArg{Name: a.Name, Min: a.Min, Max: uop.Int(maxFewRows)})
		}
		few[i] = to[u]
	}
	return &FewRows{few, a.Name, maxFewRows}
}

// variableRows finds a variable that is the trip count of a loop around reductions with a loop-invariant operand, nil for none.
func variableRows(f *analysis.Facts, r *analysis.Region) *uop.UOp {
	for _, in := range r.Loops() {
		if !in.Writes {
			continue
		}
		v := in.Rng.Src[0]
		for v.Op == uop.Cast {
			v = v.Src[0]
		}
		if v.Op == uop.DefineVar && in.Bound() > 4*maxFewRows && in.Collects() {
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
