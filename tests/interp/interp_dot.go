package interp

import (
	"math"
	"polygrad/core/nest/ir"
	"unsafe"
)

// dot does the sums of products of packed operands.
func (m *interpreter) dot(d *ir.Dot) {
	rows, cols := int64(d.Rows)*ir.DotBlock, int64(d.Cols)*ir.DotBlock
	per := d.Per()
	a := m.words(d.A, (d.Steps-1)*d.AStep+int64(d.Terms*d.ABlocks)*ir.DotWords)
	b := m.words(d.B, (d.Steps-1)*d.BStep+int64(d.Terms*d.BBlocks)*ir.DotWords)
	c := m.words(d.C, (rows-1)*d.CRow+cols)
	for i := range rows {
		for j := range cols {
			f, n := float32(0), int32(0)
			if at := c[i*d.CRow+j]; d.More {
				f, n = math.Float32frombits(at), int32(at)
			}
			for s := range d.Steps {
				for x := range int64(d.Terms) {
					for y := range int64(d.Terms) - x {
						for w := range int64(ir.DotBlock) {
							p := a[s*d.AStep+x*int64(d.ABlocks)*ir.DotWords+i*ir.DotBlock+w]
							q := b[s*d.BStep+(y*int64(d.BBlocks)+j/ir.DotBlock)*ir.DotWords+w*ir.DotBlock+j%ir.DotBlock]
							for k := range per {
								u, v := part32(d.Kind, p, k), part32(d.BKind, q, k)
								if d.Kind == ir.BF16 {
									f = float32(math.FMA(float64(math.Float32frombits(u)), float64(math.Float32frombits(v)), float64(f)))
								} else {
									n += (int32(u) - d.Bias) * int32(v)
								}
							}
						}
					}
				}
			}
			if d.Kind == ir.BF16 {
				n = int32(math.Float32bits(f))
			}
			c[i*d.CRow+j] = uint32(n)
		}
	}
}

// part32 is number k of a word as the register of its kind.
func part32(k ir.Kind, word uint32, n int64) uint32 {
	word >>= uint64(n * k.Size() * 8)
	return uint32(ir.Decode(k, uint64(word)&(1<<uint64(k.Size()*8)-1)))
}

// words is memory of 32-bit elements from a place on.
func (m *interpreter) words(p *ir.Place, n int64) []uint32 {
	first := p.Off
	for _, t := range p.Terms {
		first += t.Coef * m.integer(t.V)
	}
	at := m.element(p, nil, nil, first, 0)
	m.element(p, nil, nil, first+n-1, 0)
	if p.Stride != 0 || at == nil {
		ir.Fail("a product from or to buffer %d with a stride", p.Buf.ID)
	}
	return unsafe.Slice((*uint32)(at), n)
}
