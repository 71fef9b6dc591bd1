package lower

import (
	"math"

	"polygrad/core/uop"
)

// smallFloat is a floating point type of at most 16 bits: its widths, and its treatment of overflow.
type smallFloat struct {
	dt            *uop.DType
	bits          *uop.DType
	exponent      int64
	mantissa      int64
	top, inf, nan int64 // greatest finite number, infinity, NaN; as bits
	saturate      bool  // overflow gives the greatest finite number
	noInf         bool  // no infinity: overflow gives NaN
}

var smallFloats = map[*uop.DType]*smallFloat{
	uop.Float16:  {dt: uop.Float16, bits: uop.Uint16, exponent: 5, mantissa: 10, top: 0x7bff, inf: 0x7c00, nan: 0x7e00},
	uop.BFloat16: {dt: uop.BFloat16, bits: uop.Uint16, exponent: 8, mantissa: 7, top: 0x7f7f, inf: 0x7f80, nan: 0x7fc0},
	uop.FP8E5M2:  {dt: uop.FP8E5M2, bits: uop.Uint8, exponent: 5, mantissa: 2, top: 0x7b, inf: 0x7c, nan: 0x7e, saturate: true},
	uop.FP8E4M3:  {dt: uop.FP8E4M3, bits: uop.Uint8, exponent: 4, mantissa: 3, top: 0x7e, inf: 0x7f, nan: 0x7f, saturate: true, noInf: true},
}

func (f *smallFloat) bias() int64 { return 1<<(f.exponent-1) - 1 }

// is reports whether dt is the type or a vector of it; isPtr whether it is a pointer to it.
func (f *smallFloat) is(dt *uop.DType) bool { return !dt.IsPtr() && dt.Scalar() == f.dt }

func (f *smallFloat) isPtr(dt *uop.DType) bool { return dt.IsPtr() && f.is(dt.Base()) }

func like(dt, scalar *uop.DType) *uop.DType { return scalar.Vec(dt.Count) }

func bitsConst(u *uop.UOp, v int64) *uop.UOp { return u.IntLike(v) }

// widen is the float32 of equal value, from bits.
func (f *smallFloat) widen(b *uop.UOp) *uop.UOp {
	v := b.Cast(uop.Uint32)
	c := func(x int64) *uop.UOp { return bitsConst(v, x) }
	float := like(v.DType, uop.Float32)
	shift := 23 - f.mantissa
	if f.exponent == 8 {
		return v.Shl(c(shift)).BitcastTo(float)
	}
	mag := v.And(c(1<<(f.exponent+f.mantissa) - 1))
	// The exponent is too small by the difference of the biases; multiplying corrects denormal numbers, too.
	x := mag.Shl(c(shift))
	scaled := x.BitcastTo(float)
	scaled = scaled.Mul(num(scaled, math.Ldexp(1, int(127-f.bias())))).BitcastTo(v.DType)
	special := mag.Lt(c(f.inf)).Not()
	bits := special.Where(x.Or(c(0x7f800000)), scaled)
	sign := v.Shr(c(f.exponent + f.mantissa)).Shl(c(31))
	return bits.Or(sign).BitcastTo(float)
}

// narrow gives the bits of the nearest number, ties to even, from float32.
func (f *smallFloat) narrow(x *uop.UOp) *uop.UOp {
	u := x.BitcastTo(like(x.DType, uop.Uint32))
	c := func(v int64) *uop.UOp { return bitsConst(u, v) }
	shift := 23 - f.mantissa
	a := u.And(c(0x7fffffff))
	odd := a.Shr(c(shift)).And(c(1))
	r := a.Add(c(1<<(shift-1) - 1)).Add(odd).Shr(c(shift))
	if f.exponent < 8 {
		r = r.Add(c(-((127 - f.bias()) << f.mantissa)))
		// A subnormal result: adding a number whose last bit is the type's smallest number rounds to a multiple of that.
		magic := math.Ldexp(1, int(24-f.bias()-f.mantissa))
		y := a.BitcastTo(x.DType)
		tiny := y.Add(num(y, magic)).BitcastTo(u.DType).Add(c(-int64(math.Float32bits(float32(magic)))))
		r = a.Lt(c((128-f.bias())<<23)).Where(tiny, r)
	}
	limit := f.inf
	if f.saturate {
		limit = f.top
	}
	r = r.Lt(c(limit)).Where(r, c(limit))
	if f.saturate && !f.noInf {
		r = a.Lt(c(0x7f800000)).Where(r, c(f.inf))
	}
	notNaN := a.Lt(c(0x7f800001))
	if f.noInf {
		notNaN = a.Lt(c(0x7f800000))
	}
	r = notNaN.Where(r, c(f.nan))
	sign := u.Shr(c(31)).Shl(c(f.exponent + f.mantissa))
	return r.Or(sign).Cast(f.bits)
}

// round is the float32 x rounded to the type.
func (f *smallFloat) round(x *uop.UOp) *uop.UOp { return f.widen(f.narrow(x)) }

// emulate rebuilds a graph: values of the type are float32 rounded after every operation, memory holds their bits.
func (f *smallFloat) emulate(sink *uop.UOp) *uop.UOp {
	topo := sink.Toposort()
	found := false
	for _, u := range topo {
		found = found || f.is(u.DType) || f.isPtr(u.DType)
	}
	if !found {
		return sink
	}
	m := make(map[*uop.UOp]*uop.UOp, len(topo))
	for _, u := range topo {
		src := make([]*uop.UOp, len(u.Src))
		for i, s := range u.Src {
			src[i] = m[s]
		}
		m[u] = f.node(u, src)
	}
	return m[sink]
}

// exactInSmall are the operations on small floats whose results need no rounding.
var exactInSmall = uop.Ops(uop.Where, uop.Max, uop.Neg, uop.Trunc, uop.Floor, uop.Ceil, uop.Round)

func (f *smallFloat) node(u *uop.UOp, src []*uop.UOp) *uop.UOp {
	if f.isPtr(u.DType) {
		return rebuild(u, pointerLike(u.DType, f.bits, 1), src)
	}
	small := f.is(u.DType)
	switch u.Op {
	case uop.Load:
		if !small {
			break
		}
		if len(src) > 1 && f.is(u.Src[1].DType) {
			src[1] = f.narrow(src[1])
		}
		return f.widen(rebuild(u, like(u.DType, f.bits), src))
	case uop.Store:
		if f.isPtr(u.Src[0].DType) {
			src[1] = f.narrow(src[1])
		}
	case uop.ConstOp:
		if small {
			v := uop.RoundTo(f.dt, u.ConstVal().F())
			return u.Graph().Const(like(u.DType, uop.Float32), uop.Float(v))
		}
	case uop.VConstOp:
		if small {
			vs := append([]uop.Const(nil), u.Arg.(uop.Consts)...)
			for i, v := range vs {
				vs[i] = uop.Float(uop.RoundTo(f.dt, v.F()))
			}
			return u.Graph().ConstVec(like(u.DType, uop.Float32), vs)
		}
	case uop.Cast:
		if small {
			return f.round(src[0].Cast(uop.Float32))
		}
		if f.is(u.Src[0].DType) {
			return src[0].Cast(u.DType)
		}
	case uop.Bitcast:
		if small && !f.is(u.Src[0].DType) {
			return f.widen(src[0].BitcastTo(like(u.DType, f.bits)))
		}
		if !small && f.is(u.Src[0].DType) {
			return f.narrow(src[0]).BitcastTo(u.DType)
		}
	}
	if !small {
		return rebuild(u, u.DType, src)
	}
	v := rebuild(u, like(u.DType, uop.Float32), src)
	if exactInSmall.Has(u.Op) || !uop.GroupALU.Has(u.Op) {
		return v
	}
	return f.round(v)
}
