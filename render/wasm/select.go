package wasm

import (
	"math"
	"slices"

	"polygrad/core/nest/ir"
	"polygrad/render/wasm/binary"
)

// value is the inst that computes a value.
func (s *selector) value(v *ir.Value) *inst {
	if n := s.of(v).inst; n != nil {
		return n
	}
	n := s.make(v)
	s.of(v).inst = n
	return n
}

// maker selects the insts for a value.
type maker func(s *selector, v *ir.Value) *inst

// rules are the instruction selectors of each operation.
var rules map[ir.Op]maker

func init() {
	rules = map[ir.Op]maker{
		ir.Const: (*selector).makeConst,
		ir.Var: func(s *selector, v *ir.Value) *inst {
			return s.param(len(s.k.Params)+int(v.Bits), shapeOf(v.Kind, 1).typ())
		},
		ir.Iter:  func(s *selector, v *ir.Value) *inst { return s.widened(s.counter(v.Loop)) },
		ir.First: func(s *selector, v *ir.Value) *inst { return s.items64(0, 0) },
		ir.Items: func(s *selector, v *ir.Value) *inst { return s.items64(1, s.items) },
		ir.Lane:  (*selector).makeLane,
		ir.Phi:   (*selector).makePhi,
		ir.Final: (*selector).makeFinal,
		ir.Load:  (*selector).load,

		ir.Splat:      func(s *selector, v *ir.Value) *inst { return s.splat(v, s.value(v.Args[0]), v.Args[0].Pos == 0) },
		ir.Extract:    (*selector).makeExtract,
		ir.Insert:     (*selector).makeInsert,
		ir.Transpose:  (*selector).makeTranspose,
		ir.Spread:     (*selector).makeSpread,
		ir.ShiftLanes: (*selector).makeShiftLanes,
		ir.Interleave: (*selector).makeInterleave,
		ir.AnyLane:    (*selector).across,
		ir.Sum:        (*selector).across,
		ir.Product:    (*selector).across,
		ir.MaxLanes:   (*selector).across,
		ir.AndAll:     (*selector).across,
		ir.OrAll:      (*selector).across,
		ir.XorAll:     (*selector).across,

		ir.Add:    byKind(ir.Or, pAdd, pAdd),
		ir.Sub:    byKind(ir.Xor, pSub, pSub),
		ir.Mul:    byKind(ir.And, pMul, pMul),
		ir.FMA:    fused(pFMA),
		ir.NFMA:   fused(pNFMA),
		ir.Div:    (*selector).makeDivision,
		ir.Mod:    (*selector).makeDivision,
		ir.Neg:    (*selector).makeNeg,
		ir.Abs:    (*selector).makeAbs,
		ir.Max:    (*selector).makeGreater,
		ir.MaxSS:  (*selector).makeGreater,
		ir.MinSS:  (*selector).makeGreater,
		ir.Sqrt:   byKind(0, prim{}, pSqrt),
		ir.Trunc:  rounding(pTrunc),
		ir.Round:  rounding(pRound),
		ir.Floor:  rounding(pFloor),
		ir.And:    byKind(ir.And, pAnd, prim{}),
		ir.Or:     byKind(ir.Or, pOr, prim{}),
		ir.Xor:    byKind(ir.Xor, pXor, prim{}),
		ir.AndNot: (*selector).makeAndNot,
		ir.Shl:    (*selector).makeShift,
		ir.Shr:    (*selector).makeShift,

		ir.Less:      (*selector).makeCompare,
		ir.LessEqual: (*selector).makeCompare,
		ir.Equal:     (*selector).makeCompare,
		ir.NotEqual:  (*selector).makeCompare,
		ir.Where:     (*selector).makeWhere,

		ir.Cast:    (*selector).makeCast,
		ir.Bitcast: (*selector).makeBitcast,
	}
}

func (s *selector) make(v *ir.Value) *inst {
	m := rules[v.Op]
	if m == nil {
		fail("operation %v on %v with %d lanes has no rule", v.Op, v.Kind, v.Lanes)
	}
	return m(s, v)
}

// shape is the shape of a value.
func (s *selector) shape(v *ir.Value) shape {
	if v.Kind == ir.Bool && v.Lanes > 1 {
		return boolShape(v.Lanes, s.width(v))
	}
	return shapeOf(v.Kind, v.Lanes)
}

// byKind is an operation that has an instruction for integers, one for floats, and an operation of logic for bools.
func byKind(logic ir.Op, ints, floats prim) maker {
	return func(s *selector, v *ir.Value) *inst {
		p := ints
		switch {
		case v.Kind == ir.Bool:
			p = map[ir.Op]prim{ir.And: pAnd, ir.Or: pOr, ir.Xor: pXor}[logic]
		case v.Kind.Float():
			p = floats
		}
		return s.do(p, s.shape(v), s.args(v)...)
	}
}

// args returns the arguments of a value; bools have the lane width of the vectors of bools that they are combined with.
func (s *selector) args(v *ir.Value) []*inst {
	out := make([]*inst, len(v.Args))
	for i, a := range v.Args {
		out[i] = s.value(a)
		if a.Kind == ir.Bool && v.Kind == ir.Bool {
			out[i] = s.form(a, s.formOf(v))
		}
	}
	return out
}

// fused is an operation with vector instructions only: a scalar is computed in the first lane of a vector.
func fused(p prim) maker {
	return func(s *selector, v *ir.Value) *inst {
		h, args := s.shape(v), s.args(v)
		if h.lanes > 1 {
			return s.do(p, h, args...)
		}
		vector := shapeOf(v.Kind, 16/h.width())
		for i, a := range args {
			args[i] = s.op(pSplat[vector.index()], binary.V128, a)
		}
		return s.extract(vector, s.do(p, vector, args...), 0)
	}
}

func rounding(p prim) maker {
	return func(s *selector, v *ir.Value) *inst {
		if !v.Kind.Float() {
			return s.value(v.Args[0])
		}
		return s.do(p, s.shape(v), s.value(v.Args[0]))
	}
}

func (s *selector) makeConst(v *ir.Value) *inst {
	return s.constOf(v, s.shape(v))
}

// constOf is a constant in a shape.
func (s *selector) constOf(v *ir.Value, h shape) *inst {
	bits := v.Bits
	if v.Kind == ir.Bool && v.Lanes > 1 {
		bits = -bits
	}
	if h.width() == 4 {
		bits = uint64(uint32(bits))
	}
	return s.constant(h, bits)
}

// items64 is one of the two parameters for work items; in whole functions it is a constant.
func (s *selector) items64(n int, whole int64) *inst {
	if s.k.whole {
		return s.int(shape{e64, 1}, whole)
	}
	return s.param(s.k.firstParam()+n, binary.I64)
}

// counter counts the iterations of a loop from 0, in 32 bits where that is enough.
func (s *selector) counter(l *ir.Loop) *inst {
	if n := s.counters[l]; n != nil {
		return n
	}
	h := shape{e64, 1}
	switch n := trip(l); {
	case n == 1:
		s.counters[l] = s.i32(0)
		return s.counters[l]
	case n > 0 && n <= math.MaxInt32:
		h = shape{e32, 1}
	}
	v := s.addLoopVar(l.Body, s.int(h, 0))
	v.next = s.do(pAdd, h, v.v, s.int(h, 1))
	s.counters[l] = v.v
	return v.v
}

// widened is an integer that is not negative as 64 bits.
func (s *selector) widened(n *inst) *inst {
	switch {
	case n.typ == binary.I64:
		return n
	case n.what == isConst:
		return s.int(shape{e64, 1}, int64(n.imm[0]))
	}
	return s.op(binary.I64ExtendI32U, binary.I64, n)
}

func (s *selector) makeLane(v *ir.Value) *inst {
	n := inst{what: isConst, typ: binary.V128, imm: [2]uint64{1 << 32, 2 | 3<<32}}
	if s.shape(v).width() == 8 {
		n.imm = [2]uint64{0, 1}
	}
	return s.intern(n)
}

func phiOf(v *ir.Value) *ir.PhiVar {
	i := slices.IndexFunc(v.Loop.Phis, func(p *ir.PhiVar) bool { return p.V == v })
	if i < 0 {
		fail("a phi that its loop does not have")
	}
	return v.Loop.Phis[i]
}

func (s *selector) makePhi(v *ir.Value) *inst {
	p := phiOf(v)
	form := s.formOf(v)
	if trip(v.Loop) == 1 {
		return s.form(p.Init, form)
	}
	lv := s.addLoopVar(v.Block, s.form(p.Init, form))
	s.of(v).inst = lv.v
	lv.next = s.form(p.Next, form)
	lv.chain = s.chainOf(p)
	return lv.v
}

// chainOf lists the steps from a loop variable to its next value, with those of the addends.
func (s *selector) chainOf(p *ir.PhiVar) []*inst {
	next := throughOnce(p.Next)
	var out []*inst
	if next.Op == ir.FMA {
		return s.fusedChain(p, next)
	}
	// down goes from a sum to its first term.
	down := func(v, end *ir.Value, each func(sum, term *ir.Value)) *ir.Value {
		for v != end && v.Op == next.Op && len(v.Args) == 2 {
			a, b := throughOnce(v.Args[0]), throughOnce(v.Args[1])
			if a != end && (b == end || a.Op != v.Op) {
				a, b = b, a
			}
			each(v, b)
			v = a
		}
		return v
	}
	begin := down(next, p.V, func(sum, term *ir.Value) {
		out = append(out, s.value(sum))
		down(term, nil, func(sum, _ *ir.Value) { out = append(out, s.value(sum)) })
	})
	if begin != p.V {
		return nil
	}
	slices.Reverse(out)
	return out
}

// fusedChain is the chain of a sum of products that are added by fused multiply-adds.
func (s *selector) fusedChain(p *ir.PhiVar, v *ir.Value) []*inst {
	var out []*inst
	for ; v.Op == ir.FMA; v = throughOnce(v.Args[2]) {
		out = append(out, s.value(v))
	}
	if v != p.V {
		return nil
	}
	slices.Reverse(out)
	return out
}

// throughOnce is a value with the variables of loops that run once replaced.
func throughOnce(v *ir.Value) *ir.Value {
	for {
		switch {
		case v.Op == ir.Final && trip(v.Args[0].Loop) == 1:
			v = phiOf(v.Args[0]).Next
		case v.Op == ir.Phi && trip(v.Loop) == 1:
			v = phiOf(v).Init
		default:
			return v
		}
	}
}

func (s *selector) makeFinal(v *ir.Value) *inst {
	phi := v.Args[0]
	if trip(phi.Loop) == 1 {
		return s.form(phiOf(phi).Next, s.formOf(phi))
	}
	p := s.value(phi)
	n := s.intern(inst{what: isFinal, typ: p.typ, args: []*inst{p}})
	n.home = s.home(v.Block)
	return n
}

func (s *selector) makeNeg(v *ir.Value) *inst {
	x := s.value(v.Args[0])
	h := s.shape(v)
	switch {
	case v.Kind == ir.Bool:
		return x
	case h.lanes == 1 && !v.Kind.Float():
		return s.do(pSub, h, s.int(h, 0), x)
	}
	return s.do(pNeg, h, x)
}

func (s *selector) makeAbs(v *ir.Value) *inst {
	x := s.value(v.Args[0])
	h := s.shape(v)
	switch {
	case !v.Kind.Float() && !v.Kind.Signed():
		return x
	case h.lanes == 1 && !v.Kind.Float():
		return s.choose(h, s.do(pLt, h, x, s.int(h, 0)), s.do(pSub, h, s.int(h, 0), x), x)
	}
	return s.do(pAbs, h, x)
}

// makeGreater is Max and MaxSS, the second argument where it is greater, and MinSS, the second where it is less.
func (s *selector) makeGreater(v *ir.Value) *inst {
	h := s.shape(v)
	a := s.args(v)
	if v.Kind == ir.Bool {
		return s.do(map[ir.Op]prim{ir.Max: pOr, ir.MaxSS: pOr, ir.MinSS: pAnd}[v.Op], h, a...)
	}
	if v.Kind.Float() {
		if v.Op == ir.Max {
			return s.maximumNaN(h, a[0], a[1])
		}
		return s.pick(v.Op, v.Kind, h, a[0], a[1])
	}
	if v.Lanes > 1 && h.elem == e32 {
		p := map[bool][2]prim{true: {pMaxS, pMinS}, false: {pMaxU, pMinU}}[v.Kind.Signed()]
		if v.Op == ir.MinSS {
			return s.do(p[1], h, a...)
		}
		return s.do(p[0], h, a...)
	}
	return s.pick(v.Op, v.Kind, h, a[0], a[1])
}

// pick is b where a < b (for MinSS where b < a), else a.
func (s *selector) pick(op ir.Op, k ir.Kind, h shape, a, b *inst) *inst {
	less, p := [2]*inst{a, b}, pPMax
	if op == ir.MinSS {
		less, p = [2]*inst{b, a}, pPMin
	}
	if k.Float() && h.lanes > 1 {
		return s.do(p, h, a, b)
	}
	return s.choose(h, s.compare(ir.Less, k, h, less[0], less[1]), b, a)
}

// maximumNaN is the greater of two numbers, NaN if either is.
func (s *selector) maximumNaN(h shape, a, b *inst) *inst {
	k := map[elem]ir.Kind{f32: ir.F32, f64: ir.F64}[h.elem]
	isNaN := s.do(pNe, h, b, b)
	return s.choose(h, isNaN, b, s.pick(ir.MaxSS, k, h, a, b))
}

func (s *selector) makeAndNot(v *ir.Value) *inst {
	h := s.shape(v)
	a := s.args(v)
	if h.lanes > 1 {
		return s.op(binary.V128AndNot, binary.V128, a...)
	}
	if v.Kind == ir.Bool {
		return s.do(pAnd, h, a[0], s.not(h, a[1]))
	}
	return s.do(pAnd, h, a[0], s.do(pXor, h, a[1], s.int(h, -1)))
}

// makeShift shifts by a number of bits that WebAssembly takes modulo the width; all lanes by the same.
func (s *selector) makeShift(v *ir.Value) *inst {
	x, by := v.Args[0], v.Args[1]
	h := s.shape(v)
	p := pShl
	if v.Op == ir.Shr {
		p = pShrU
		if v.Kind.Signed() {
			p = pShrS
		}
	}
	if by.Op == ir.Splat {
		by = by.Args[0]
	}
	switch {
	case by.Op == ir.Const:
		return s.shift(p, h, s.value(x), int64(by.Bits)&int64(8*h.width()-1))
	case by.Lanes > 1:
		return s.lanewise(v, func(a []*inst) *inst { return s.do(p, h.one(), a...) })
	case h.lanes > 1:
		return s.do(p, h, s.value(x), s.low(s.value(by), lowDepth))
	}
	return s.do(p, h, s.value(x), s.value(by))
}

func (s *selector) makeCompare(v *ir.Value) *inst {
	x, y := v.Args[0], v.Args[1]
	if x.Kind == ir.Bool {
		w := s.formOf(v)
		return s.compareBools(v.Op, s.shape(v), s.form(x, w), s.form(y, w))
	}
	return s.compare(v.Op, x.Kind.Register(), shapeOf(x.Kind, v.Lanes), s.value(x), s.value(y))
}

func (s *selector) compare(op ir.Op, k ir.Kind, h shape, a, b *inst) *inst {
	switch op {
	case ir.NotEqual:
		return s.do(pNe, h, a, b)
	case ir.Equal:
		return s.do(pEq, h, a, b)
	}
	p := pLt
	switch unsigned := k == ir.U32 || k == ir.U64; {
	case unsigned && h == shape{e64, 2}:
		// Signed numbers have the same order when the top bit is changed.
		top := s.int(h, math.MinInt64)
		a, b = s.do(pXor, h, a, top), s.do(pXor, h, b, top)
		if op == ir.LessEqual {
			return s.op(binary.I64x2LeS, binary.V128, a, b)
		}
	case unsigned && op == ir.Less:
		p = pLtU
	case unsigned:
		p = pLeU
	case op == ir.LessEqual:
		p = pLe
	}
	return s.do(p, h, a, b)
}

func (s *selector) compareBools(op ir.Op, h shape, a, b *inst) *inst {
	switch op {
	case ir.NotEqual:
		return s.do(pXor, h, a, b)
	case ir.Equal:
		return s.not(h, s.do(pXor, h, a, b))
	case ir.Less:
		return s.do(pAnd, h, s.not(h, a), b)
	}
	return s.do(pOr, h, s.not(h, a), b)
}

// not is the opposite of a bool.
func (s *selector) not(h shape, v *inst) *inst {
	if h.lanes > 1 {
		return s.op(binary.V128Not, binary.V128, v)
	}
	return s.op(binary.I32Eqz, binary.I32, v)
}

func (s *selector) makeWhere(v *ir.Value) *inst {
	c, x, y := v.Args[0], v.Args[1], v.Args[2]
	h := s.shape(v)
	f := s.formOf(v)
	if v.Lanes == 1 {
		return s.choose(h, s.value(c), s.value(x), s.value(y))
	}
	mask := s.mask(c, v.Lanes, h.width())
	switch zero := func(v *ir.Value) bool { return v.Op == ir.Const && v.Bits == 0 }; {
	case zero(y):
		return s.op(binary.V128And, binary.V128, s.form(x, f), mask)
	case zero(x):
		return s.op(binary.V128AndNot, binary.V128, s.form(y, f), mask)
	}
	return s.choose(h, mask, s.form(x, f), s.form(y, f))
}

// makeDivision divides. Integers truncate; where C leaves the result undefined it is 0 (division by zero) or wraps (the least integer
// divided by -1); it never traps.
func (s *selector) makeDivision(v *ir.Value) *inst {
	h := s.shape(v)
	switch {
	case v.Kind.Float():
		return s.do(pDiv, h, s.args(v)...)
	case v.Kind == ir.Bool:
		return s.do(pAnd, h, s.args(v)...)
	}
	divide := func(a []*inst) *inst { return s.divide(v.Op == ir.Mod, v.Kind.Signed(), h.one(), a[0], a[1]) }
	if v.Lanes > 1 {
		return s.lanewise(v, divide)
	}
	return divide(s.args(v))
}

// divide is a quotient or a remainder of scalars.
func (s *selector) divide(mod, isSigned bool, h shape, a, b *inst) *inst {
	ops := [2][2][2]binary.Op{
		{{binary.I32DivU, binary.I32DivS}, {binary.I32RemU, binary.I32RemS}},
		{{binary.I64DivU, binary.I64DivS}, {binary.I64RemU, binary.I64RemS}},
	}
	rem, signed := 0, 0
	if mod {
		rem = 1
	}
	if isSigned {
		signed = 1
	}
	div := ops[h.elem][rem][signed]
	zero, one := s.int(h, 0), s.int(h, 1)
	minus := b.what == isConst && b.imm == s.int(h, -1).imm && isSigned
	if b.what == isConst && b.imm[0] != 0 && !minus {
		return s.op(div, h.typ(), a, b)
	}
	if mod {
		isZero := s.do(pEq, h, b, zero)
		return s.op(div, h.typ(), a, s.choose(h, isZero, one, b))
	}
	if !isSigned {
		isZero := s.do(pEq, h, b, zero)
		return s.choose(h, isZero, zero, s.op(div, h.typ(), a, s.choose(h, isZero, one, b)))
	}
	// 0 and -1 are handled apart: both give 0 or 1 when 1 is added.
	odd := s.do(pLtU, h, s.do(pAdd, h, b, one), s.int(h, 2))
	q := s.op(div, h.typ(), a, s.choose(h, odd, one, b))
	// If b is 0 or -1, the quotient is a * b.
	return s.choose(h, odd, s.do(pMul, h, a, b), q)
}
