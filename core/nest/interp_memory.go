package nest

import (
	"math"
	"unsafe"

	"polygrad/core/uop"
)

// element finds lane i of a place, nil where its gate is shut.
func (m *interpreter) element(p *Place, gate, index []uint64, first, i int64) unsafe.Pointer {
	if gate != nil && gate[min(i, int64(len(gate)-1))] == 0 {
		return nil
	}
	at := first + p.Stride*i
	if index != nil {
		at += intOf(p.Index.Kind, index[i])
	}
	if b := p.Buf; at < 0 || b.Size >= 0 && at >= b.Size {
		bad("access to element %d of buffer %d (argument %d), which has %d of %s", at, b.ID, b.Param, b.Size, b.Kind)
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
func (m *interpreter) each(p *Place, lanes int, f func(i int, at unsafe.Pointer)) {
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

func (m *interpreter) load(v *Value, out []uint64) {
	if v.Kind != v.At.Buf.Kind {
		bad("load %d of %s from buffer %d of %s", v.ID, v.Kind, v.At.Buf.ID, v.At.Buf.Kind)
	}
	var alt []uint64
	if v.At.Gate != nil {
		alt = m.value(v.Args[0])
	}
	m.each(v.At, v.Lanes, func(i int, at unsafe.Pointer) {
		if at == nil {
			out[i] = alt[min(i, len(alt)-1)]
		} else {
			out[i] = decode(v.Kind, readBits(v.Kind, at))
		}
	})
}

func (m *interpreter) store(s *Store) {
	k := s.At.Buf.Kind
	if from := s.Val.Kind; from.Float() != k.Float() || from.Width() != k.Width() {
		bad("store of %s to buffer %d of %s", s.Val.Kind, s.At.Buf.ID, k)
	}
	val := m.value(s.Val)
	m.stores[s.At.Buf.ID]++
	m.each(s.At, s.Val.Lanes, func(i int, at unsafe.Pointer) {
		if at != nil {
			writeBits(k, at, encode(k, val[i]))
		}
	})
}

func readBits(k Kind, at unsafe.Pointer) uint64 {
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

func writeBits(k Kind, at unsafe.Pointer, bits uint64) {
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

// decode is the register that holds what lies in memory as bits.
func decode(k Kind, bits uint64) uint64 {
	single := func(f float64) uint64 { return uint64(math.Float32bits(float32(f))) }
	switch k {
	case Bool:
		return truth(bits != 0)
	case E4M3:
		return single(uop.FP8ToFloat(uop.FP8E4M3, uint8(bits)))
	case E5M2:
		return single(uop.FP8ToFloat(uop.FP8E5M2, uint8(bits)))
	case F16:
		return single(float64(uop.HalfToFloat(uint16(bits))))
	case BF16:
		return bits << 16
	case F32, F64:
		return bits
	}
	return k.Wrap(int64(bits))
}

// encode is what lies in memory of the value of a register, in the low bits.
func encode(k Kind, reg uint64) uint64 {
	f := float64(math.Float32frombits(uint32(reg)))
	switch k {
	case E4M3:
		return uint64(uop.FloatToFP8(uop.FP8E4M3, f))
	case E5M2:
		return uint64(uop.FloatToFP8(uop.FP8E5M2, f))
	case F16:
		return uint64(uop.FloatToHalf(f))
	case BF16:
		return uint64(uop.FloatToBF16(f))
	}
	return reg
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
