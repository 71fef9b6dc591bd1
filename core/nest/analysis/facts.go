// Package analysis analyses a kernel before its layout is planned: its loops as a tree of regions, the strides of indices
// along loops, its buffers, and chains of sums.
package analysis

import (
	"slices"

	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// Facts are the results of the analysis of a kernel.
type Facts struct {
	Tree      *Region
	Arguments []ir.Param
	Variables []ir.VarParam
	// VariableNumber is the index of a variable in vars, by name.
	VariableNumber map[string]int
	Buffers        map[*uop.UOp]*ir.Buffer
	// Changing are the buffers that are both read and written.
	Changing []*ir.Buffer
	// Memory is the scratch memory that the list declares.
	Memory ir.ScratchMemory
	// ExactProducts are products of narrow floats that are accumulated in F32 without rounding.
	ExactProducts map[*uop.UOp]bool
	// Chains are sums whose initial value is the final value of another sum.
	Chains SumChains
	// Wide: there are elements of 64 bits.
	Wide   bool
	affine map[*uop.UOp]bool
	// slopesAlong caches the slopes of values along ranges.
	slopesAlong map[*uop.UOp]*Slopes
}

// New analyses a linear list.
func New(list []*uop.UOp) (f *Facts, err error) {
	defer ir.Recover(&err)
	root, err := tree(list)
	if err != nil {
		return nil, err
	}
	f = &Facts{
		Tree: root, VariableNumber: map[string]int{}, Buffers: map[*uop.UOp]*ir.Buffer{}, Wide: hasWide(list),
		affine: make(map[*uop.UOp]bool, len(list)), slopesAlong: map[*uop.UOp]*Slopes{}, ExactProducts: root.findExactProducts(map[*uop.UOp]bool{}),
	}
	f.findBuffers(list)
	f.Chains = newSumChains(list, root)
	return f, nil
}

// Work estimates the arithmetic operations and the memory traffic in bytes of a run.
func (f *Facts) Work() (flops, bytes float64) {
	for _, p := range f.Arguments {
		if p.Size > 0 {
			bytes += float64(p.Bytes())
		}
	}
	return f.flops(f.Tree), bytes
}

// hasWide reports whether vectors of 64-bit elements may be needed; indices of type uint32 are computed in 64 bits. A value that is the same
// in all iterations, as the cast of a stored sum, is a scalar.
func hasWide(list []*uop.UOp) bool {
	for _, u := range list {
		switch u.Op {
		case uop.Index:
			if u.Src[1].DType.Scalar() == uop.Uint32 {
				return true
			}
			continue
		case uop.Range, uop.ConstOp, uop.DefineVar, uop.Param, uop.DefineReg, uop.DefineLocal, uop.After:
			continue
		}
		dt := u.DType
		if u.Op == uop.Store {
			dt = u.Src[1].DType
		}
		if k, ok := ir.KindOf[dt.Scalar()]; ok && !dt.IsPtr() && k.Size() == 8 && len(u.Ranges()) > 0 {
			return true
		}
	}
	return false
}

// Collects reports whether a region contains a reduction loop.
func (r *Region) Collects() bool {
	return slices.ContainsFunc(r.Loops(), func(in *Region) bool { return !in.Writes || in.Collects() })
}

// HasStores reports whether a region writes memory outside of its loops.
func (r *Region) HasStores() bool {
	for _, p := range r.Parts {
		if p.U != nil && p.U.Op == uop.Store && !(p.U.Src[0].DType.Space == uop.Reg && ConstIndex(p.U.Src[0])) {
			return true
		}
	}
	return false
}

// findBuffers numbers the buffers and finds those that are both read and written.
func (f *Facts) findBuffers(list []*uop.UOp) {
	for _, u := range list {
		switch u.Op {
		case uop.Param:
			f.addBuffer(u, &ir.Buffer{Kind: ir.KindOf[u.DType.Base()], Size: u.DType.Size, Param: len(f.Arguments)})
			f.Arguments = append(f.Arguments, ir.Param{DType: u.DType.Base(), Slot: int(u.Arg.(uop.Num)), Size: u.DType.Size})
		case uop.DefineLocal:
			f.addScratch(u)
		case uop.DefineVar:
			v := u.Arg.(uop.VarArg)
			f.VariableNumber[v.Name] = len(f.Variables)
			f.Variables = append(f.Variables, ir.VarParam{Name: v.Name, Kind: ir.KindOf[u.DType.Scalar()], Min: v.Min.I(), Max: v.Max.I()})
		case uop.Index:
			if d := Definition(u); d.Op == uop.DefineReg && !ConstIndex(u) && f.Buffers[d] == nil {
				f.addScratch(d)
			}
		case uop.Store:
			if b := f.Buffers[Definition(u.Src[0])]; b != nil {
				b.Written = true
			}
		case uop.Load:
			if b := f.Buffers[Definition(u.Src[0])]; b != nil {
				b.Read = true
			}
		}
	}
	for _, u := range list {
		b := f.Buffers[u]
		if b != nil && b.Param >= 0 {
			f.Arguments[b.Param].Read, f.Arguments[b.Param].Written = b.Read, b.Written
		}
		if b != nil && b.Read && b.Written {
			f.Changing = append(f.Changing, b)
		}
	}
}

func (f *Facts) addBuffer(u *uop.UOp, b *ir.Buffer) {
	b.ID = int32(len(f.Buffers) + 1)
	f.Buffers[u] = b
}

func (f *Facts) addScratch(u *uop.UOp) {
	f.Buffers[u] = f.Memory.NewUpdated(KindFor(u.DType.Base()), u.DType.Size)
}

// flops counts the arithmetic operations of a region.
func (f *Facts) flops(r *Region) float64 {
	sum := 0.0
	for _, p := range r.Parts {
		switch {
		case p.Sub != nil:
			sum += p.Sub.assumedTrip() * f.flops(p.Sub)
		case uop.GroupALU.Has(p.U.Op) && !f.Affine(p.U):
			sum += float64(operations(p.U.Op))
		}
	}
	return sum
}

// operations is the number of arithmetic operations that an operation counts as.
func operations(op uop.Op) int64 {
	switch op {
	case uop.Exp, uop.Exp2, uop.Log2, uop.Sin, uop.Cos, uop.Tanh:
		return 20
	}
	return 1
}

// Maskable reports whether all elements that the kernel accesses have at least the size that the machine can mask.
func (f *Facts) Maskable(least int64) bool {
	for _, b := range f.Buffers {
		if b.Kind.Size() < least {
			return false
		}
	}
	return true
}

// Independent reports whether the iterations of a band may run in parallel: each accesses only its own element of a buffer that the
// band both reads and writes, and stores to the same buffer do not overlap.
func (f *Facts) Independent(leaf *Region) bool {
	written := map[*uop.UOp]*uop.UOp{}
	places := map[*uop.UOp][]place{}
	ok := true
	acc := leaf.Accesses(1, nil)
	index := func(u *uop.UOp) *uop.UOp {
		ix := u.Src[0]
		for ix.Op == uop.Cast || ix.Op == uop.After {
			ix = ix.Src[0]
		}
		return ix.Src[1]
	}
	for _, a := range acc {
		if a.U.Op == uop.Store {
			d := Definition(a.U.Src[0])
			if at, again := written[d]; again && at != index(a.U) {
				if places[d] == nil {
					places[d] = []place{placeOf(at)}
				}
				p := placeOf(index(a.U))
				ok = ok && !slices.ContainsFunc(places[d], p.mayAlias)
				places[d] = append(places[d], p)
				continue
			}
			written[d] = index(a.U)
		}
	}
	for _, a := range acc {
		d := Definition(a.U.Src[0])
		if at, is := written[d]; is && a.U.Op == uop.Load && (at != index(a.U) || places[d] != nil) {
			ok = false
		}
	}
	return ok
}

// Access is a load or store of memory in the leaf of a band.
type Access struct {
	U     *uop.UOp
	Times float64 // how often in one iteration of the leaf
}

// Accesses appends the accesses of a region, which runs some times in one iteration of the leaf, and of the loops inside.
func (r *Region) Accesses(times float64, out []Access) []Access {
	for _, p := range r.Parts {
		switch {
		case p.Sub != nil:
			out = p.Sub.Accesses(times*p.Sub.assumedTrip(), out)
		case (p.U.Op == uop.Load || p.U.Op == uop.Store) && !(p.U.Src[0].DType.Space == uop.Reg && ConstIndex(p.U.Src[0])):
			out = append(out, Access{p.U, times})
		}
	}
	return out
}

// Repeatable reports whether a region may run again with the same result: it loads from no buffer that it stores to.
func (r *Region) Repeatable() bool {
	stored, acc := map[*uop.UOp]bool{}, r.Accesses(1, nil)
	for _, a := range acc {
		if a.U.Op == uop.Store {
			stored[Definition(a.U.Src[0])] = true
		}
	}
	return !slices.ContainsFunc(acc, func(a Access) bool { return a.U.Op == uop.Load && stored[Definition(a.U.Src[0])] })
}

// assumedTrip is the trip count of a loop, 64 if it is a variable.
func (r *Region) assumedTrip() float64 {
	if n := r.Trip(); n >= 0 {
		return float64(n)
	}
	return 64
}

// LoadsIn are the loads that a value is computed from, without those that compute addresses or gates.
func LoadsIn(u *uop.UOp) []*uop.UOp {
	var out []*uop.UOp
	seen := map[*uop.UOp]bool{}
	var find func(u *uop.UOp)
	find = func(u *uop.UOp) {
		switch {
		case seen[u] || u.Op == uop.Range:
			return
		case u.Op == uop.Load:
			out = append(out, u)
		default:
			for _, s := range u.Src {
				find(s)
			}
		}
		seen[u] = true
	}
	find(u)
	return out
}

// Weight is the number of operations of a region, without inner loops and index arithmetic.
func (f *Facts) Weight(r *Region) int64 {
	n := int64(0)
	for _, p := range r.Parts {
		switch {
		case p.U == nil || f.Affine(p.U):
		case uop.GroupComparison.Has(p.U.Op) && f.Affine(p.U.Src[0]) && f.Affine(p.U.Src[1]):
		case uop.GroupElementwise.Has(p.U.Op) && !p.U.DType.IsPtr():
			n += operations(p.U.Op)
		case p.U.Op == uop.Load, p.U.Op == uop.Store:
			n++
		}
	}
	return n
}

// Innermost returns the innermost loop of a chain of reduction loops.
func (r *Region) Innermost() *Region {
	for {
		in := r.Loops()
		if len(in) == 0 {
			return r
		}
		r = in[0]
	}
}

// findExactProducts finds the terms of F32 sums that are products of F16 or BF16, rounded to that type. The rounding is dropped, as in
// matrix units.
func (r *Region) findExactProducts(found map[*uop.UOp]bool) map[*uop.UOp]bool {
	for _, p := range r.Parts {
		if p.Sub != nil {
			p.Sub.findExactProducts(found)
		}
	}
	for _, up := range r.Updates {
		for _, t := range up.Terms {
			if up.Op != ir.Add || t.Op != uop.Cast || ir.KindOf[t.DType.Scalar()] != ir.F32 || t.Src[0].Op != uop.Mul {
				continue
			}
			if k := ir.KindOf[t.Src[0].DType.Scalar()]; k == ir.F16 || k == ir.BF16 {
				found[t] = true
			}
		}
	}
	return found
}

// ReadsWritten reports whether a value depends on memory that the kernel writes.
func (f *Facts) ReadsWritten(u *uop.UOp) bool {
	if u.Op == uop.Load {
		b := f.Buffers[Definition(u.Src[0])]
		return b == nil || b.Written || f.ReadsWritten(u.Src[0].Src[1])
	}
	if u.Op == uop.Range {
		return false
	}
	return slices.ContainsFunc(u.Src, f.ReadsWritten)
}

// Affine reports whether an integer is an affine function of ranges.
func (f *Facts) Affine(u *uop.UOp) bool {
	if known, ok := f.affine[u]; ok {
		return known
	}
	ok := false
	switch u.Op {
	case uop.Range, uop.DefineVar:
		ok = true
	case uop.ConstOp:
		ok = u.DType.IsInt()
	case uop.Add, uop.Sub:
		ok = u.DType.IsInt() && f.Affine(u.Src[0]) && f.Affine(u.Src[1])
	case uop.Mul, uop.Shl:
		ok = u.DType.IsInt() && u.Src[1].Op == uop.ConstOp && f.Affine(u.Src[0])
	case uop.Neg:
		ok = u.DType.IsInt() && f.Affine(u.Src[0])
	case uop.Cast:
		ok = u.DType.IsInt() && f.Affine(u.Src[0])
	}
	if k := ir.KindOf[u.DType.Scalar()]; ok && k != ir.I32 && k != ir.I64 {
		ok = false // others wrap around
	}
	f.affine[u] = ok
	return ok
}

// WritesTo reports whether a loop writes to a buffer.
func (f *Facts) WritesTo(r *Region, b *ir.Buffer) bool {
	return slices.ContainsFunc(r.Parts, func(p Part) bool {
		if p.Sub != nil {
			return f.WritesTo(p.Sub, b)
		}
		return p.U.Op == uop.Store && f.Buffers[Definition(p.U.Src[0])] == b
	})
}

func (r *Region) Label() string { return r.Rng.Arg.String() }

// Written are the registers that a region stores to.
func (r *Region) Written(out []Slot) []Slot {
	for _, p := range r.Parts {
		switch {
		case p.Sub != nil:
			out = p.Sub.Written(out)
		case p.U.Op == uop.Store && p.U.Src[0].DType.Space == uop.Reg && ConstIndex(p.U.Src[0]):
			if s := SlotOf(p.U.Src[0]); !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	return out
}

// InOrder reports whether a loop runs sequentially: that of a running reduction or of a scatter.
func (r *Region) InOrder() bool {
	return r.Rng != nil && r.Rng.RangeID().Type == uop.AxisPrefix
}

// AnyInOrder reports whether a loop of the region runs sequentially.
func (r *Region) AnyInOrder() bool {
	return r.InOrder() || slices.ContainsFunc(r.Loops(), (*Region).AnyInOrder)
}

func KindFor(dt *uop.DType) ir.Kind {
	k, ok := ir.KindOf[dt.Scalar()]
	if !ok || dt.Count > 1 {
		ir.Fail("dtype %s cannot be rendered", dt)
	}
	return k
}

// Chain returns the loops of a band: each contains only the next one and pure operations; the last one is the leaf. A sequential loop
// is a band of its own.
func Chain(r *Region) []*Region {
	out := []*Region{r}
	for {
		var next *Region
		for _, p := range r.Parts {
			switch {
			case p.Sub != nil && next == nil && p.Sub.Writes && p.Sub.InOrder() == r.InOrder():
				next = p.Sub
			case p.Sub != nil || p.U.Op == uop.Store:
				return out
			case p.U.Op == uop.Load && p.U.Src[0].DType.Space == uop.Reg:
				return out
			}
		}
		if next == nil {
			return out
		}
		out = append(out, next)
		r = next
	}
}

// Simple reports whether a loop does nothing but reductions.
func (r *Region) Simple() bool {
	for _, u := range r.Updates {
		if u.Op == 0 {
			return false
		}
	}
	return len(r.Updates) > 0
}

// AddressOf returns the buffer, the index and the gate (nil for none) of an INDEX; ok is false if u is not an INDEX.
func (f *Facts) AddressOf(ix *uop.UOp) (b *ir.Buffer, index, gate *uop.UOp, ok bool) {
	for ix.Op == uop.Cast || ix.Op == uop.After {
		ix = ix.Src[0]
	}
	if ix.Op != uop.Index || len(ix.Src) < 2 {
		return nil, nil, nil, false
	}
	if len(ix.Src) > 2 {
		gate = ix.Src[2]
	}
	return f.Buffers[Definition(ix)], ix.Src[1], gate, true
}
