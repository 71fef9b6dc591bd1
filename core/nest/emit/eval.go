package emit

import (
	"slices"

	"polygrad/core/nest/analysis"
	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// opOf are the operations that compute lane by lane.
var opOf = map[uop.Op]ir.Op{
	uop.Add: ir.Add, uop.Sub: ir.Sub, uop.Mul: ir.Mul, uop.Fdiv: ir.Div, uop.Idiv: ir.Div, uop.Mod: ir.Mod, uop.Neg: ir.Neg, uop.Max: ir.Max,
	uop.Sqrt: ir.Sqrt, uop.Trunc: ir.Trunc, uop.Floor: ir.Floor, uop.Round: ir.Round,
	uop.Exp: ir.Exp, uop.Exp2: ir.Exp2, uop.Log2: ir.Log2, uop.Sin: ir.Sin, uop.Cos: ir.Cos, uop.Tanh: ir.Tanh,
	uop.And: ir.And, uop.Or: ir.Or, uop.Xor: ir.Xor, uop.Shl: ir.Shl, uop.Shr: ir.Shr,
	uop.CmpLt: ir.Less, uop.CmpEq: ir.Equal, uop.CmpNe: ir.NotEqual, uop.Where: ir.Where,
	uop.Cast: ir.Cast,
}

// eval is the value of a node in the current environment.
func (im *emitter) eval(u *uop.UOp) *ir.Value {
	if v := im.env.val(u); v != nil {
		return v
	}
	v := im.compute(u)
	im.env.vals.set(u, v)
	return v
}

func (im *emitter) compute(u *uop.UOp) *ir.Value {
	if last := im.Chains.LastOf[u]; last != nil {
		return im.eval(last)
	}
	switch u.Op {
	case uop.ConstOp:
		k := analysis.KindFor(u.DType)
		return im.Constant(k, k.Bits(u.ConstVal()))
	case uop.DefineVar:
		return im.variable(u)
	case uop.Load:
		return im.load(u)
	case uop.After, uop.Noop:
		return im.eval(u.Src[0])
	case uop.Range:
		return im.valueOf(im.linearOf(u), analysis.KindFor(u.DType))
	}
	k := analysis.KindFor(u.DType)
	if im.Affine(u) && u.Op != uop.Neg {
		return im.valueOf(im.linearOf(u), k)
	}
	if parts.Has(u.Op) && (k == ir.I32 || k == ir.I64) {
		if l, ok := im.partOf(u); ok {
			return im.valueOf(l, k)
		}
	}
	if u.Op == uop.CmpLt && !im.Machine.Masks {
		if v := im.uniformLess(u, k); v != nil {
			return v
		}
	}
	from := u
	if im.ExactProducts[u] {
		from = u.Src[0]
	}
	fused, sources := ir.FMA, from.Src
	if u.Op == uop.MulAcc && im.Machine.FMA {
		fused, sources = ofNegated(from.Src)
	}
	args := make([]*ir.Value, len(sources))
	for i, s := range sources {
		args[i] = im.eval(s)
	}
	if from != u {
		return im.ALU(ir.Mul, k, args...)
	}
	if u.Op == uop.Bitcast {
		return im.Bitcast(analysis.KindFor(u.Src[0].DType), k, args[0])
	}
	if u.Op == uop.Reciprocal {
		return im.ALU(ir.Div, k, im.Constant(k, k.FloatBits(1)), args[0])
	}
	if u.Op == uop.Fdiv && im.dividesBySum(args[0], args[1]) {
		// Rows are multiplied by the reciprocal of the divisor: a division takes ten times as long as a product.
		return im.ALU(ir.Mul, k, args[0], im.ALU(ir.Div, k, im.Constant(k, k.FloatBits(1)), args[1]))
	}
	if u.Op == uop.MulAcc {
		if im.Machine.FMA {
			return im.ALU(fused, k, args...)
		}
		return im.ALU(ir.Add, k, im.ALU(ir.Mul, k, args[0], args[1]), args[2])
	}
	if u.Op == uop.Where && u.Arg == uop.Unlikely {
		return im.WhereUnlikely(k, args[0], args[1], args[2])
	}
	op, ok := opOf[u.Op]
	if !ok {
		ir.Fail("operation %s is not for the renderer", u.Op)
	}
	return im.ALU(op, k, args...)
}

// ofNegated is the operation x*y + z, or z - x*y if one factor is negated, which takes no negation.
func ofNegated(sources []*uop.UOp) (ir.Op, []*uop.UOp) {
	if sources[0].Op != uop.Neg && sources[1].Op != uop.Neg {
		return ir.FMA, sources
	}
	op, sources := ir.FMA, slices.Clone(sources)
	for i, s := range sources[:2] {
		if s.Op == uop.Neg {
			sources[i] = s.Src[0]
			op = ir.FMA + ir.NFMA - op
		}
	}
	return op, sources
}

// uniformLess emits a comparison of indices that has the same result in all lanes as a scalar, so that loads gated by it stay contiguous
// vectors: edges of pads and joins at multiples of the lanes. Nil for other comparisons.
func (im *emitter) uniformLess(u *uop.UOp, k ir.Kind) *ir.Value {
	of := analysis.KindFor(u.Src[0].DType)
	for _, s := range u.Src {
		if of != ir.I32 && of != ir.I64 || s.Op != uop.ConstOp && !im.Affine(s) {
			return nil
		}
	}
	x, y := im.linearOf(u.Src[0]), im.linearOf(u.Src[1])
	d := im.addLinear(x, y, -1)
	period := d.lane * int64(im.Lanes)
	if d.lane == 0 || d.slow != 0 || d.index != nil || slices.ContainsFunc(d.terms, func(t ir.Term) bool { return t.Coef%period != 0 }) {
		return nil
	}
	// The difference is rest plus a multiple of the period in the first lane: no multiple of the period may lie between
	// two lanes.
	period = max(period, -period)
	rest := (d.off%period + period) % period
	if last := rest + d.lane*int64(im.Lanes-1); last < 0 || last >= period {
		return nil
	}
	x.lane, y.lane = 0, 0
	return im.ALU(ir.Less, k, im.valueOf(x, of), im.valueOf(y, of))
}

func (im *emitter) variable(u *uop.UOp) *ir.Value {
	v := u.Arg.(uop.VarArg)
	i, ok := im.VariableNumber[v.Name]
	if !ok {
		ir.Fail("the variable %s is not in the list", v.Name)
	}
	return im.New(ir.Var, analysis.KindFor(u.DType), 1, uint64(i))
}

// target is an element of memory that an INDEX stands for.
type target struct {
	buf   *ir.Buffer
	index *uop.UOp
	gate  *uop.UOp
}

func (im *emitter) target(ix *uop.UOp) target {
	b, index, gate, ok := im.AddressOf(ix)
	switch {
	case !ok:
		ir.Fail("an access by way of %s, expected an INDEX", ix.Op)
	case b == nil:
		ir.Fail("an access to %s, which is no memory", analysis.Definition(ix).Op)
	}
	return target{b, index, gate}
}

// place returns the address and the number of lanes of an access in the current environment. ok is false if its gate is known to be
// false.
func (im *emitter) place(t target) (at *ir.Place, lanes int, ok bool) {
	l := im.addressOf(t.index)
	if l.slow != 0 || l.index != nil && l.lane != 0 {
		k := ir.I32
		if l.index != nil {
			k = l.index.Kind
		}
		l.index = im.valueOf(linear{lane: l.lane, slow: l.slow, split: l.split, from: l.from, index: l.index}, k)
		l.lane, l.slow = 0, 0
	}
	if im.env.rows != nil {
		l.off += im.env.row * im.env.rows.PerRow(t.buf)
	}
	at = &ir.Place{Buf: t.buf, Terms: l.terms, Off: l.off, Stride: l.lane, Index: l.index}
	lanes = 1
	if l.lane != 0 || l.index != nil {
		lanes = im.Lanes
	}
	if t.gate != nil {
		at.Gate = im.eval(t.gate)
		if at.Gate.Op == ir.Const {
			if at.Gate.Bits == 0 {
				return at, lanes, false
			}
			at.Gate = nil
		} else {
			lanes = max(lanes, at.Gate.Lanes)
		}
	}
	if tail := im.env.tail; tail != nil && lanes > 1 {
		if at.Gate == nil {
			at.Gate = tail
		} else {
			at.Gate = im.ALU(ir.And, ir.Bool, im.Splat(at.Gate), tail)
		}
	}
	return at, lanes, true
}

func (im *emitter) load(u *uop.UOp) *ir.Value {
	k := analysis.KindFor(u.DType)
	if u.Src[0].DType.Space == uop.Reg && analysis.ConstIndex(u.Src[0]) {
		v := im.env.reg(analysis.SlotOf(u.Src[0]))
		if v == nil {
			return im.Constant(k, 0)
		}
		return v
	}
	t := im.target(u.Src[0])
	v := im.spread(t, k)
	if v != nil && t.gate == nil {
		return v
	}
	gate := t.gate
	if gate != nil && im.selects(t) {
		t.gate = nil
	}
	at, lanes, ok := im.place(t)
	alt := im.Constant(k, 0)
	if gate != nil && len(u.Src) > 1 {
		alt = im.eval(u.Src[1])
	}
	if !ok {
		return alt
	}
	if v != nil {
		return im.ALU(ir.Where, k, im.eval(gate), v, alt)
	}
	if gate != t.gate {
		v, alt = im.LoadAs(k, at, lanes, im.Splat(im.Constant(k, 0))), im.Splat(alt)
		return im.ALU(ir.Where, k, im.Splat(im.eval(gate)), im.Splat(v), alt)
	}
	if lanes > 1 {
		if v := im.transposedLoad(t, k, at); v != nil {
			return v
		}
	}
	if at.Gate != nil && at.Gate.Lanes > 1 && at.Stride == 0 && at.Index == nil {
		return im.loadForAny(k, at, alt)
	}
	if lanes > 1 && at.Gate != nil {
		alt = im.Splat(alt)
	}
	return im.LoadAs(k, at, max(lanes, alt.Lanes), alt)
}

// selects reports whether a vector is loaded in full, and lanes of it selected: no index of the access is out of bounds, and the machine cannot mask
// loads of elements so small.
func (im *emitter) selects(t target) bool {
	if !im.env.vector || im.env.rows != nil || im.planned.Masks {
		return false
	}
	l := im.addressOf(t.index)
	low, high := t.index.Bounds()
	return l.lane == 1 && l.slow == 0 && l.index == nil && low.Sign() >= 0 && high.Less(uop.Int(t.buf.Size))
}

// loadForAny loads an element for all lanes, if any lane needs it, such as the edge of replicating padding.
func (im *emitter) loadForAny(k ir.Kind, at *ir.Place, alt *ir.Value) *ir.Value {
	lanes, one := at.Gate, *at
	if one.Gate = im.Any(lanes); one.Gate.Op == ir.Const {
		if one.Gate.Bits == 0 {
			return alt
		}
		one.Gate = nil
	}
	v := im.LoadAs(k, &one, 1, im.Constant(k, 0))
	return im.ALU(ir.Where, k, lanes, v, alt)
}

func (im *emitter) store(u *uop.UOp) {
	if u.Src[0].DType.Space == uop.Reg && analysis.ConstIndex(u.Src[0]) {
		if p := im.env.prefix; p != nil {
			im.env.regs.set(analysis.SlotOf(u.Src[0]), im.running(p, u))
			return
		}
		v := im.eval(u.Src[1])
		if from, ok := im.Chains.StartsFrom[u]; ok {
			v = im.register(im.env, from)
		}
		im.env.regs.set(analysis.SlotOf(u.Src[0]), v)
		return
	}
	t := im.target(u.Src[0])
	at, lanes, ok := im.place(t)
	if !ok {
		return
	}
	v := im.eval(u.Src[1])
	if lanes > 1 {
		v = im.Splat(v)
		im.markNonTemporal(u, at)
		if im.at != nil && im.at.Split != nil { // one of the lanes that share a sum stores the result
			at.Gate = im.andGates(at.Gate, im.Do(ir.Less, ir.Bool, im.New(ir.Lane, ir.I32, im.Lanes, 0), im.Int(ir.I32, im.at.Split.Stride)))
		}
	}
	im.StoreAs(at, v)
}

// markNonTemporal makes a vector store non-temporal if it is planned so and its addresses are aligned to the elements that are written
// together.
func (im *emitter) markNonTemporal(u *uop.UOp, at *ir.Place) {
	if im.at == nil {
		return
	}
	whole, ok := im.at.Streams[u]
	if !ok || at.Stride != 1 || at.Index != nil || at.Gate != nil || at.Off%int64(im.Lanes) != 0 {
		return
	}
	for _, t := range at.Terms {
		if t.Coef%whole != 0 {
			return
		}
	}
	at.Stream = true
	im.Params[at.Buf.Param].Aligned = true
}

// dividesBySum reports whether an element of a row is divided by a sum over the row.
func (im *emitter) dividesBySum(x, y *ir.Value) bool {
	return (y.Kind == ir.F32 || y.Kind == ir.F64) && y.Lanes == 1 && (x.Lanes > 1 || x.Block.Depth > y.Block.Depth) && afterReduction(y, 10)
}

// afterReduction reports whether a value is computed, in a few steps, from the final value of a phi.
func afterReduction(v *ir.Value, steps int) bool {
	if v.Op == ir.Final {
		return true
	}
	return steps > 0 && slices.ContainsFunc(v.Args, func(a *ir.Value) bool { return afterReduction(a, steps-1) })
}
