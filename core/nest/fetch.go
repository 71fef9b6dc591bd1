package nest

import (
	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// fetchFrom is the number of steps of a tile's sums from which on it pays to fetch ahead: for fewer there is no time.
const fetchFrom = 64

// fetchAhead says at the beginning of a tile of a product what its sums will be combined with, if that lies in matrices
// larger than the caches: a tile has little of many rows, which come too late if they are asked for when the sums are made.
func (im *importer) fetchAhead(p *plan, copies []*env) {
	steps := int64(0)
	for _, s := range p.sums {
		steps += s.steps
	}
	if p.rows == nil || steps < fetchFrom {
		return
	}
	type place struct {
		buf  *ir.Buffer
		line int64
	}
	asked := map[place]bool{}
	for _, x := range p.leaf.parts {
		u := x.u
		if u == nil || u.Op != uop.Load || u.Src[0].DType.Space == uop.Reg {
			continue
		}
		b := im.bufs[definition(u.Src[0])]
		if b == nil || b.Param < 0 || b.Size*b.Kind.Size() < im.m.L2 {
			continue
		}
		for _, e := range copies {
			im.env = e
			t := im.target(u.Src[0])
			if t.gate != nil {
				break
			}
			l := im.linearOf(t.index)
			if l.lane != 1 || l.index != nil {
				break
			}
			if at := (place{b, l.off * b.Kind.Size() / line}); !asked[at] {
				asked[at] = true
				im.Fetch(&ir.Place{Buf: b, Terms: l.terms, Off: l.off})
			}
		}
	}
}
