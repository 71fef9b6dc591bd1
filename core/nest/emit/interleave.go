package emit

import (
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
	"polygrad/core/uop"
)

// interleavedStores stores the vectors of several stores as planned: interleaved, when the last of them is due. It reports whether the store
// is one of them.
func (im *emitter) interleavedStores(u *uop.UOp, copies []*env) bool {
	p := im.at
	if p == nil || !copies[0].vector || p.Interleaved[u] == nil {
		return false
	}
	group := p.Interleaved[u]
	for i, x := range p.Leaf.Parts {
		if x.U == u {
			for _, y := range p.Leaf.Parts[i+1:] {
				if y.U != nil && p.Interleaved[y.U] != nil && p.Interleaved[y.U][0] == group[0] {
					return true // a later one stores them
				}
			}
		}
	}
	lanes, n := int64(im.Lanes), int64(len(group))
	for _, e := range copies {
		im.env = e
		vals := make([]*ir.Value, n)
		for i, s := range group {
			vals[i] = im.Splat(im.eval(s.Src[1]))
		}
		t := im.target(group[0].Src[0])
		l := im.addressOf(t.index)
		live := n * lanes
		if e.tail != nil {
			live = n * p.InterleavedRest()
		}
		for j, v := range im.Interleaved(vals) {
			at := &ir.Place{Buf: t.buf, Terms: l.terms, Off: l.off + int64(j)*lanes, Stride: 1}
			left := live - int64(j)*lanes
			if left <= 0 {
				break
			}
			if left < lanes {
				at.Gate = im.lanesUpTo(left)
			}
			if l.off*t.buf.Kind.Size()%plan.Line == 0 {
				im.markNonTemporal(u, at)
			}
			im.StoreAs(at, v)
		}
	}
	return true
}
