// Package nest makes nests of loops of the linear lists of lower. A kernel is imported with every loop as it stands in
// the list; a plan says which loops are tiled, reordered, spread over vectors and registers, and which operands are packed.
package nest

import (
	"fmt"
	"os"
	"slices"

	"polygrad/core/kinds"
	"polygrad/core/nest/ir"
	"polygrad/core/settings"
	"polygrad/core/uop"
)

// Compile lays the linear list of a kernel out for a machine.
func Compile(name string, list []*uop.UOp, m ir.Machine) (*ir.Kernel, error) {
	k, _, err := CompileAs(name, list, m, "")
	return k, err
}

// CompileAs lays the linear list of a kernel out for a machine, as a choice says, and tells how.
func CompileAs(name string, list []*uop.UOp, m ir.Machine, c Choice) (k *ir.Kernel, l Layout, err error) {
	wanted, err := c.bands()
	if err != nil {
		return nil, nil, fmt.Errorf("nest.CompileAs: kernel %s: %w", name, err)
	}
	root, err := tree(list)
	if err != nil {
		return nil, nil, fmt.Errorf("nest.CompileAs: kernel %s: %w", name, err)
	}
	k, l, err = build(name, list, root, m, wanted, false)
	if err != nil && m.Lanes > 1 {
		// What cannot be spread over vectors is done as it stands.
		k, l, err = build(name, list, root, m, wanted, true)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("nest.CompileAs: kernel %s: %w", name, err)
	}
	if settings.Dump.Get() == "nest" {
		k.Dump(os.Stderr)
	}
	return k, l, nil
}

func build(name string, list []*uop.UOp, root *region, m ir.Machine, wanted []band, plain bool) (k *ir.Kernel, l Layout, err error) {
	defer ir.Recover(&err)
	lanes := m.Lanes
	if hasWide(list) {
		lanes = m.WideLanes
	}
	im := &importer{
		Builder: ir.NewBuilder(name, lanes), m: m, plain: plain,
		bufs: map[*uop.UOp]*ir.Buffer{}, vars: map[string]int{}, grows: map[*uop.UOp]*slopes{}, pure: make(map[*uop.UOp]bool, len(list)),
		wanted: wanted, numbered: map[*region]int{},
	}
	im.Builder.Machine = m
	im.exact = root.exactProducts(map[*uop.UOp]bool{})
	im.findBuffers(list)
	im.findWork(root)
	im.collects = root.collects()
	im.linked = newLinked(list, root)
	im.serial = len(root.loops()) != 1 || root.hasStores()
	im.env = newEnv(nil)
	im.body(root, []*env{im.env})
	im.Choice = string(im.layout.Chosen())
	return im.Kernel, im.layout, nil
}

// hasWide reports whether vectors of 64-bit elements may be needed.
func hasWide(list []*uop.UOp) bool {
	for _, u := range list {
		switch u.Op {
		case uop.Range, uop.ConstOp, uop.DefineVar, uop.Param, uop.DefineReg, uop.DefineLocal, uop.Index, uop.After:
			continue
		}
		dt := u.DType
		if u.Op == uop.Store {
			dt = u.Src[1].DType
		}
		if k, ok := kinds.Of[dt.Scalar()]; ok && !dt.IsPtr() && k.Size() == 8 {
			return true
		}
	}
	return false
}

// collects reports whether any loop in a region collects into registers.
func (r *region) collects() bool {
	return slices.ContainsFunc(r.loops(), func(in *region) bool { return !in.writes || in.collects() })
}

// hasStores reports whether a region writes memory outside of its loops.
func (r *region) hasStores() bool {
	for _, p := range r.parts {
		if p.u != nil && p.u.Op == uop.Store && !(p.u.Src[0].DType.Space == uop.Reg && constIndex(p.u.Src[0])) {
			return true
		}
	}
	return false
}

// findBuffers numbers the buffers and learns which are written before anything is read.
func (im *importer) findBuffers(list []*uop.UOp) {
	for _, u := range list {
		switch u.Op {
		case uop.Param:
			im.addBuffer(u, &ir.Buffer{Kind: kinds.Of[u.DType.Base()], Size: u.DType.Size, Param: len(im.Params)})
			im.Params = append(im.Params, ir.Param{DType: u.DType.Base(), Slot: int(u.Arg.(uop.Num)), Size: u.DType.Size})
		case uop.DefineLocal:
			im.addScratch(u)
		case uop.DefineVar:
			v := u.Arg.(uop.VarArg)
			im.vars[v.Name] = len(im.Vars)
			im.Vars = append(im.Vars, ir.VarParam{Name: v.Name, Kind: kinds.Of[u.DType.Scalar()], Min: v.Min.I(), Max: v.Max.I()})
		case uop.Index:
			if d := definition(u); d.Op == uop.DefineReg && !constIndex(u) && im.bufs[d] == nil {
				im.addScratch(d)
			}
		case uop.Store:
			if b := im.bufs[definition(u.Src[0])]; b != nil {
				b.Written = true
			}
		case uop.Load:
			if b := im.bufs[definition(u.Src[0])]; b != nil {
				b.Read = true
			}
		}
	}
	for _, u := range list {
		b := im.bufs[u]
		if b != nil && b.Param >= 0 {
			im.Params[b.Param].Read, im.Params[b.Param].Written = b.Read, b.Written
		}
		if b != nil && b.Read && b.Written {
			im.changing = append(im.changing, b)
		}
	}
}

func (im *importer) addBuffer(u *uop.UOp, b *ir.Buffer) {
	b.ID = int32(len(im.bufs) + 1)
	im.bufs[u] = b
}

func (im *importer) addScratch(u *uop.UOp) {
	im.bufs[u] = im.scratch(kindFor(u.DType.Base()), u.DType.Size)
	im.bufs[u].Read, im.bufs[u].Written = true, true
}

// scratch makes a buffer of scratch memory.
func (im *importer) scratch(k ir.Kind, size int64) *ir.Buffer {
	im.buffers++
	b := &ir.Buffer{ID: 1<<20 + im.buffers, Kind: k, Size: size, Param: -1, Offset: im.Scratch}
	im.Scratch += (size*k.Size() + 63) &^ 63
	return b
}

// findWork estimates what a run costs.
func (im *importer) findWork(root *region) {
	for _, p := range im.Params {
		if p.Size > 0 {
			im.Bytes += float64(p.Bytes())
		}
	}
	im.Flops = im.flops(root)
}

func (im *importer) flops(r *region) float64 {
	sum := 0.0
	for _, p := range r.parts {
		switch {
		case p.sub != nil:
			n := p.sub.trip()
			if n < 0 {
				n = unknownTrip
			}
			sum += float64(n) * im.flops(p.sub)
		case uop.GroupALU.Has(p.u.Op) && !im.indexOnly(p.u):
			sum += float64(operations(p.u.Op))
		}
	}
	return sum
}

// operations is how much an operation counts.
func operations(op uop.Op) int64 {
	switch op {
	case uop.Exp, uop.Exp2, uop.Log2, uop.Sin, uop.Cos, uop.Tanh:
		return 20
	}
	return 1
}

// maskable reports whether lanes of all memory that the kernel accesses can be shut.
func (im *importer) maskable() bool {
	for _, b := range im.bufs {
		if b.Kind.Size() < im.m.MaskedSize {
			return false
		}
	}
	return true
}

// independent reports whether the iterations of a band may be done in any order, side by side: what it both reads and
// writes is one element for each of them.
func (im *importer) independent(leaf *region) bool {
	written := map[*uop.UOp]*uop.UOp{}
	ok := true
	acc := leaf.accesses(1, nil)
	index := func(u *uop.UOp) *uop.UOp {
		ix := u.Src[0]
		for ix.Op == uop.Cast || ix.Op == uop.After {
			ix = ix.Src[0]
		}
		return ix.Src[1]
	}
	for _, a := range acc {
		if a.u.Op == uop.Store {
			d := definition(a.u.Src[0])
			if at, again := written[d]; again && at != index(a.u) {
				ok = false
			}
			written[d] = index(a.u)
		}
	}
	for _, a := range acc {
		if at, is := written[definition(a.u.Src[0])]; is && a.u.Op == uop.Load && at != index(a.u) {
			ok = false
		}
	}
	return ok
}
