package emit

import (
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
	"polygrad/core/uop"
)

// prefetch prefetches what loads read, so many bytes ahead, one cache line at a time.
func (im *emitter) prefetch(loads []*uop.UOp, copies []*env, ahead int64) {
	type place struct {
		buf  *ir.Buffer
		line int64
	}
	asked := map[place]bool{}
	for _, u := range loads {
		for _, e := range copies {
			im.env = e
			t := im.target(u.Src[0])
			l := im.linearOf(t.index)
			if l.lane != 1 {
				break // the remainder is scalar
			}
			size := t.buf.Kind.Size()
			if at := (place{t.buf, l.off * size / plan.Line}); !asked[at] {
				asked[at] = true
				im.Prefetch(&ir.Place{Buf: t.buf, Terms: l.terms, Off: l.off + ahead/size})
			}
		}
	}
}
