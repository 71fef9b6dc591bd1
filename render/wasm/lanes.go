package wasm

import (
	"polygrad/core/nest/ir"
	"polygrad/render/wasm/binary"
)

// width is the width of the lanes of a vector of bools: that of its operands.
func (s *selector) width(v *ir.Value) int {
	if v.Lanes == 4 {
		return 4
	}
	if s.of(v).width == 0 {
		w := s.findWidth(v)
		s.of(v).width = int8(w)
	}
	return int(s.of(v).width)
}

func (s *selector) findWidth(v *ir.Value) int {
	a := v.Args
	switch v.Op {
	case ir.Const, ir.Load, ir.Splat:
		return 4
	case ir.Phi:
		return s.width(phiOf(v).Init)
	case ir.Where:
		a = a[1:]
	}
	if len(a) == 0 {
		return 4
	}
	of := a[0]
	if of.Op == ir.Const && len(a) > 1 {
		of = a[1]
	}
	if of.Kind != ir.Bool {
		return int(of.Kind.Width())
	}
	return s.width(of)
}

// formOf is the width of the lanes of a vector of bools, 0 for all else.
func (s *selector) formOf(v *ir.Value) int {
	if v.Kind == ir.Bool && v.Lanes > 1 {
		return s.width(v)
	}
	return 0
}

// form is a value; if it is a vector of bools, with lanes of a width.
func (s *selector) form(v *ir.Value, width int) *inst {
	if width != 0 && v.Op == ir.Const {
		return s.constOf(v, boolShape(v.Lanes, width))
	}
	n := s.value(v)
	if width == 0 || v.Lanes == 1 || width == s.width(v) {
		return n
	}
	if s.of(v).other == nil {
		var o *inst
		if width == 8 {
			o = s.op(binary.I64x2ExtendLowS, binary.V128, n)
		} else {
			o = s.evenLanes(n)
		}
		s.of(v).other = o
	}
	return s.of(v).other
}

// evenLanes brings the low halves of two lanes of 8 bytes together.
func (s *selector) evenLanes(v *inst) *inst {
	return s.shuffle(v, v, 4, 0, 2, 0, 2)
}

// mask is a bool for vectors with lanes of a width.
func (s *selector) mask(v *ir.Value, lanes, width int) *inst {
	if v.Lanes > 1 {
		return s.form(v, width)
	}
	return s.spreadBool(s.value(v), boolShape(lanes, width))
}

// spreadBool is a scalar bool in all lanes.
func (s *selector) spreadBool(n *inst, h shape) *inst {
	if h.elem == e64 {
		n = s.op(binary.I64ExtendI32U, binary.I64, n)
	}
	return s.do(pNeg, h, s.op(pSplat[h.index()], binary.V128, n))
}

// splat puts a scalar into every lane of v. A float from memory is loaded into a cleared register and its bytes are spread: wazero's own splat
// depends on the old contents of the register. still: the load may be repeated.
func (s *selector) splat(v *ir.Value, n *inst, still bool) *inst {
	h := s.shape(v)
	if v.Kind == ir.Bool {
		return s.spreadBool(n, h)
	}
	if s.splatLoads && still && n.what == isLoad && len(n.args) == 1 {
		if op := map[binary.Op]binary.Op{binary.F32Load: binary.V128Load32Splat, binary.F64Load: binary.V128Load64Splat, binary.I32Load: binary.V128Load32Splat, binary.I64Load: binary.V128Load64Splat}[n.op]; op != 0 {
			all := *n
			all.id, all.uses, all.state, all.op, all.typ = 0, 0, fresh, op, binary.V128
			return s.add(&all)
		}
	}
	if n.what == isLoad && n.op == binary.F32Load && still {
		zero := *n
		zero.id, zero.uses, zero.state, zero.op, zero.typ = 0, 0, fresh, binary.V128Load32Zero, binary.V128
		spread := s.intern(inst{what: isConst, typ: binary.V128, imm: [2]uint64{0x0302010003020100, 0x0302010003020100}})
		return s.op(binary.I8x16Swizzle, binary.V128, s.add(&zero), spread)
	}
	return s.op(pSplat[h.index()], binary.V128, n)
}

// lanewise computes a vector one lane after the other, for what there are scalar instructions only.
func (s *selector) lanewise(v *ir.Value, lane func(args []*inst) *inst) *inst {
	h := s.shape(v)
	var out *inst
	for i := range v.Lanes {
		args := make([]*inst, len(v.Args))
		for j, a := range v.Args {
			args[j] = s.value(a)
			if a.Op == ir.Const {
				args[j] = s.constOf(a, s.shape(a).one())
			} else if a.Lanes > 1 {
				args[j] = s.extract(s.shape(a), args[j], i)
			}
		}
		if x := lane(args); out == nil {
			out = s.op(pSplat[h.index()], binary.V128, x)
		} else {
			out = s.replace(h, out, i, x)
		}
	}
	return out
}

func (s *selector) makeExtract(v *ir.Value) *inst {
	a := v.Args[0]
	n := s.extract(s.shape(a), s.value(a), int(v.Bits))
	if v.Kind == ir.Bool {
		return s.do(pAnd, shape{e32, 1}, s.low(n, 0), s.i32(1))
	}
	return n
}

func (s *selector) makeInsert(v *ir.Value) *inst {
	h := s.shape(v)
	x := s.value(v.Args[1])
	if v.Kind == ir.Bool {
		if h.elem == e64 {
			x = s.op(binary.I64ExtendI32U, binary.I64, x)
		}
		x = s.do(pSub, h.one(), s.int(h.one(), 0), x)
	}
	return s.replace(h, s.form(v.Args[0], s.formOf(v)), int(v.Bits), x)
}

// shuffle is a vector of lanes of two others, n in each.
func (s *selector) shuffle(a, b *inst, n int, lanes ...int) *inst {
	size := 16 / n
	out := inst{what: isShuffl, typ: binary.V128, args: []*inst{a, b}}
	for i := range 16 {
		out.imm[i/8] |= uint64(lanes[i/size]*size+i%size) << (8 * (i % 8))
	}
	return s.intern(out)
}

// makeTranspose is one column of as many vectors as there are lanes. What the columns share is computed once.
func (s *selector) makeTranspose(v *ir.Value) *inst {
	h := s.shape(v)
	r := s.args(v)
	column := int(v.Bits)
	switch {
	case v.Lanes == 2 && h.width() == 8:
		return s.shuffle(r[0], r[1], 2, column, 2+column)
	case v.Lanes == 2:
		return s.shuffle(r[0], r[1], 4, column, 4+column, column, 4+column)
	}
	i := column &^ 1
	lo, hi := s.shuffle(r[0], r[1], 4, i, 4+i, i+1, 5+i), s.shuffle(r[2], r[3], 4, i, 4+i, i+1, 5+i)
	return s.shuffle(lo, hi, 2, column&1, 2+column&1)
}

// makeSpread is a vector of lanes of another.
func (s *selector) makeSpread(v *ir.Value) *inst {
	lanes := make([]int, 4)
	for i := range lanes {
		lanes[i] = int(v.Bits >> (4 * (i % v.Lanes)) & 15)
	}
	x := s.value(v.Args[0])
	if s.shape(v).width() == 8 {
		return s.shuffle(x, x, 2, lanes[:2]...)
	}
	return s.shuffle(x, x, 4, lanes...)
}

// makeShiftLanes moves the lanes of a vector up or down. Engines recognise shuffles that select consecutive bytes of two vectors.
func (s *selector) makeShiftLanes(v *ir.Value) *inst {
	h, by := s.shape(v), int(int64(v.Bits))
	n := 16 / h.width()
	lanes := make([]int, n)
	x, zero := s.value(v.Args[0]), s.constant(h, 0)
	if by > 0 {
		x, zero, by = zero, x, by-n
	}
	for i := range lanes {
		lanes[i] = i - by
	}
	return s.shuffle(x, zero, n, lanes...)
}

// across combines the lanes of a vector, one half with the other until one lane is left.
func (s *selector) across(v *ir.Value) *inst {
	a := v.Args[0]
	h := s.shape(a)
	x := s.value(a)
	if a.Kind == ir.Bool {
		return s.boolsAcross(v.Op, h, x)
	}
	combine := func(h shape, x, y *inst) *inst {
		switch v.Op {
		case ir.Sum:
			return s.do(pAdd, h, x, y)
		case ir.Product:
			return s.do(pMul, h, x, y)
		case ir.AndAll:
			return s.do(pAnd, h, x, y)
		case ir.OrAll:
			return s.do(pOr, h, x, y)
		case ir.XorAll:
			return s.do(pXor, h, x, y)
		}
		return s.pick(ir.MaxSS, a.Kind, h, x, y)
	}
	out := x
	if a.Lanes == 4 {
		out = combine(h, x, s.shuffle(x, x, 2, 1, 1))
	}
	top := combine(h.one(), s.extract(h, out, 0), s.extract(h, out, 1))
	if v.Op != ir.MaxLanes || !a.Kind.Float() {
		return top
	}
	// The maximum of two numbers may drop a NaN, so NaNs are found separately.
	nan := s.float(h.one(), nan)
	return s.choose(h.one(), s.anyLane(h.ints(), s.do(pNe, h, x, x)), nan, top)
}

// anyLane is whether a lane of a vector of bools is true.
func (s *selector) anyLane(h shape, v *inst) *inst {
	if int(h.lanes)*h.width() < 16 {
		v = s.op(binary.V128And, binary.V128, v, s.intern(inst{what: isConst, typ: binary.V128, imm: [2]uint64{^uint64(0), 0}}))
	}
	return s.op(binary.V128AnyTrue, binary.I32, v)
}

// boolsAcross combines the lanes of a vector of bools.
func (s *selector) boolsAcross(op ir.Op, h shape, v *inst) *inst {
	one := shape{e32, 1}
	switch op {
	case ir.AndAll, ir.Product:
		return s.not(one, s.anyLane(h, s.not(h, v)))
	case ir.XorAll:
		op := binary.I32x4Bitmask
		if h.elem == e64 {
			op = binary.I64x2Bitmask
		}
		bits := s.do(pAnd, one, s.op(op, binary.I32, v), s.i32(1<<h.lanes-1))
		return s.do(pAnd, one, s.op(binary.I32Popcnt, binary.I32, bits), s.i32(1))
	}
	return s.anyLane(h, v)
}

// makeInterleave takes the lanes of several vectors in turn.
func (s *selector) makeInterleave(v *ir.Value) *inst {
	r, per := s.args(v), 16/s.shape(v).width()
	out, n := r[0], len(r)
	for k := 1; k < n; k++ {
		lanes := make([]int, per)
		for i := range lanes {
			at := int(v.Bits)*v.Lanes + i%v.Lanes
			switch from := at % n; {
			case from == k:
				lanes[i] = per + at/n
			case from < k && k > 1:
				lanes[i] = i // stays in place
			case from < k:
				lanes[i] = at / n
			}
		}
		out = s.shuffle(out, r[k], per, lanes...)
	}
	return out
}
