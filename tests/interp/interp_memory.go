package interp

import (
	"polygrad/core/nest/ir"
	"unsafe"
)

// element finds lane i of a place, nil where its gate is shut.
func (m *interpreter) element(p *ir.Place, gate, index []uint64, first, i int64) unsafe.Pointer {
	if gate != nil && gate[min(i, int64(len(gate)-1))] == 0 {
		return nil
	}
	at := first + p.Stride*i
	if index != nil {
		at += ir.IntOf(p.Index.Kind, index[i])
	}
	if b := p.Buf; at < 0 || b.Size >= 0 && at >= b.Size {
		ir.Fail("access to element %d of buffer %d (argument %d), which has %d of %s", at, b.ID, b.Param, b.Size, b.Kind)
	}
	base := m.scratch
	if p.Buf.Param >= 0 {
		base = m.bufs[p.Buf.Param]
	} else {
		base = unsafe.Add(base, p.Buf.Offset)
	}
	return unsafe.Add(base, at*p.Buf.Kind.Size())
}

// each calls f with every lane of a place.
func (m *interpreter) each(p *ir.Place, lanes int, f func(i int, at unsafe.Pointer)) {
	first := p.Off
	for _, t := range p.Terms {
		first += t.Coef * m.integer(t.V)
	}
	var gate, index []uint64
	if p.Gate != nil {
		gate = m.value(p.Gate)
	}
	if p.Index != nil {
		index = m.value(p.Index)
	}
	for i := range lanes {
		f(i, m.element(p, gate, index, first, int64(i)))
	}
}

func (m *interpreter) load(v *ir.Value, out []uint64) {
	if v.Kind != v.At.Buf.Kind {
		ir.Fail("load %d of %s from buffer %d of %s", v.ID, v.Kind, v.At.Buf.ID, v.At.Buf.Kind)
	}
	var alt []uint64
	if v.At.Gate != nil {
		alt = m.value(v.Args[0])
	}
	m.each(v.At, v.Lanes, func(i int, at unsafe.Pointer) {
		if at == nil {
			out[i] = alt[min(i, len(alt)-1)]
		} else {
			out[i] = ir.Decode(v.Kind, readBits(v.Kind, at))
		}
	})
}

func (m *interpreter) store(s *ir.Store) {
	k := s.At.Buf.Kind
	if from := s.Val.Kind; from.Float() != k.Float() || from.Width() != k.Width() {
		ir.Fail("store of %s to buffer %d of %s", s.Val.Kind, s.At.Buf.ID, k)
	}
	val := m.value(s.Val)
	m.stores[s.At.Buf.ID]++
	m.each(s.At, s.Val.Lanes, func(i int, at unsafe.Pointer) {
		if at != nil {
			writeBits(k, at, ir.Encode(k, val[i]))
		}
	})
}

func readBits(k ir.Kind, at unsafe.Pointer) uint64 {
	switch k.Size() {
	case 1:
		return uint64(*(*uint8)(at))
	case 2:
		return uint64(*(*uint16)(at))
	case 4:
		return uint64(*(*uint32)(at))
	}
	return *(*uint64)(at)
}

func writeBits(k ir.Kind, at unsafe.Pointer, bits uint64) {
	switch k.Size() {
	case 1:
		*(*uint8)(at) = uint8(bits)
	case 2:
		*(*uint16)(at) = uint16(bits)
	case 4:
		*(*uint32)(at) = uint32(bits)
	default:
		*(*uint64)(at) = bits
	}
}
