package lower

import (
	"slices"

	"polygrad/core/rewrite"
	"polygrad/core/uop"
)

// Clang is the target of tinygrad's ClangRenderer, optimised for one thread. Its kernels equal tinygrad's, node for node; those
// have no FLOOR, CEIL and ROUND, which tinygrad lacks.
func Clang() *Target {
	return &Target{
		Name: "clang",
		Ops: uop.Ops(uop.Sqrt, uop.Neg, uop.And, uop.Xor, uop.Or, uop.Add, uop.Sub, uop.Mul, uop.Mod, uop.Idiv, uop.CmpNe, uop.Shr,
			uop.Shl, uop.CmpLt, uop.Where, uop.CmpEq, uop.Trunc, uop.Floor, uop.Ceil, uop.Round, uop.Fdiv),
		Widths:      float4,
		Optimize:    true,
		Devectorize: 1,
		Threads:     1,
		Extra:       rewrite.Concat("clang", clangCasts, computeInFloat(uop.BFloat16), castBF16, clangVectors),
	}
}

var float4Types = []*uop.DType{uop.Float32, uop.Float16, uop.FP8E4M3, uop.FP8E5M2}

// float4 are the widths of a code generator with vectors of four floats.
func float4(dt *uop.DType) []int {
	if slices.Contains(float4Types, dt) {
		return []int{4, 2}
	}
	return nil
}

// clangCasts avoids conversions that call a library function or that the processor lacks.
var clangCasts = &rewrite.Table{Name: "clang casts", Rules: []*rewrite.Rule{
	{Name: "to half types by way of float", Ops: uop.Ops(uop.Cast), Fn: func(_ any, c *uop.UOp) *uop.UOp {
		from, to := c.Src[0].DType.Scalar(), c.DType.Scalar()
		if from == uop.Float64 && (to == uop.Float16 || to == uop.BFloat16) || from == uop.BFloat16 && to == uop.Float16 {
			return c.Src[0].Cast(uop.Float32).Cast(c.DType)
		}
		return nil
	}},
	{Name: "scalar SQRT and roundings", Ops: uop.Ops(uop.Sqrt, uop.Trunc, uop.Floor, uop.Ceil, uop.Round), Fn: scalarize},
}}

// clangVectors scalarizes what C has no vectors of: booleans, and selections by them.
var clangVectors = &rewrite.Table{Name: "clang vectors", Rules: []*rewrite.Rule{
	{Name: "scalar booleans", Ops: uop.GroupElementwise.Union(uop.Ops(uop.Index)), Fn: func(ctx any, u *uop.UOp) *uop.UOp {
		if u.DType.Scalar() != uop.Bool {
			return nil
		}
		return scalarize(ctx, u)
	}},
	{Name: "scalar casts from booleans", Ops: uop.Ops(uop.Cast), Fn: func(ctx any, u *uop.UOp) *uop.UOp {
		if u.Src[0].DType.Scalar() != uop.Bool {
			return nil
		}
		return scalarize(ctx, u)
	}},
	{Name: "scalar WHERE", Ops: uop.Ops(uop.Where), Fn: scalarize},
}}

// floatLike is float32 with as many elements as dt.
func floatLike(dt *uop.DType) *uop.DType { return uop.Float32.Vec(dt.Count) }

// computeInFloat moves arithmetic on storage-only types to float32.
func computeInFloat(types ...*uop.DType) *rewrite.Table {
	small := func(u *uop.UOp) bool { return slices.Contains(types, u.DType.Scalar()) }
	float := func(us []*uop.UOp) []*uop.UOp {
		out := make([]*uop.UOp, len(us))
		for i, u := range us {
			out[i] = u.Cast(uop.Float32)
		}
		return out
	}
	return rewrite.New("compute in float",
		&rewrite.Rule{Name: "WHERE", Ops: uop.Ops(uop.Where), Fn: func(_ any, w *uop.UOp) *uop.UOp {
			if !small(w.Src[1]) || !small(w.Src[2]) {
				return nil
			}
			v := w.Graph().New(uop.Where, floatLike(w.DType), prepend(w.Src[0], float(w.Src[1:])...), nil, nil)
			return v.Cast(w.Src[1].DType)
		}},
		&rewrite.Rule{Name: "arithmetic", Ops: uop.GroupALU, Fn: func(_ any, u *uop.UOp) *uop.UOp {
			if !small(u) {
				return nil
			}
			return u.Graph().New(u.Op, floatLike(u.DType), float(u.Src), u.Arg, nil).Cast(u.DType)
		}},
		&rewrite.Rule{Name: "comparison", Ops: uop.GroupALU, Fn: func(_ any, u *uop.UOp) *uop.UOp {
			if u.DType.Scalar() != uop.Bool || len(u.Src) != 2 || !small(u.Src[0]) || !small(u.Src[1]) {
				return nil
			}
			return u.Graph().New(u.Op, u.DType, float(u.Src), u.Arg, nil)
		}},
		&rewrite.Rule{Name: "CAST to it", Ops: uop.Ops(uop.Cast), Fn: func(_ any, c *uop.UOp) *uop.UOp {
			if !small(c) || c.Src[0].DType.Scalar() == uop.Float32 {
				return nil
			}
			return c.Src[0].Cast(uop.Float32).Cast(c.DType)
		}},
		&rewrite.Rule{Name: "CAST from it", Ops: uop.Ops(uop.Cast), Fn: func(_ any, c *uop.UOp) *uop.UOp {
			if !small(c.Src[0]) || c.DType.Scalar() == uop.Float32 {
				return nil
			}
			return c.Src[0].Cast(uop.Float32).Cast(c.DType)
		}},
	)
}

// castBF16 converts bfloat16, the upper half of a float32, by its bits.
var castBF16 = &rewrite.Table{Name: "bfloat16 casts", Rules: []*rewrite.Rule{
	{Name: "bfloat16 to float", Ops: uop.Ops(uop.Cast), Fn: func(_ any, c *uop.UOp) *uop.UOp {
		x := c.Src[0]
		if x.DType.Scalar() != uop.BFloat16 || c.DType.Scalar() != uop.Float32 {
			return nil
		}
		bits := x.BitcastTo(uop.Uint16.Vec(x.DType.Count)).Cast(uop.Uint32)
		return bits.Shl(bits.IntLike(16)).BitcastTo(c.DType)
	}},
	{Name: "float to bfloat16", Ops: uop.Ops(uop.Cast), Fn: func(_ any, c *uop.UOp) *uop.UOp {
		if c.DType.Scalar() != uop.BFloat16 || c.Src[0].DType.Scalar() != uop.Float32 {
			return nil
		}
		n := c.DType.Count
		x := c.Src[0].BitcastTo(uop.Uint32.Vec(n))
		high := func(x *uop.UOp) *uop.UOp { return x.Shr(x.IntLike(16)) }
		finite := x.Neg().And(x.IntLike(0x7f800000)).Ne(x.IntLike(0))
		// Ties go to even; a NaN keeps a bit in the upper half.
		rounded := x.Add(high(x).And(x.IntLike(1))).Add(x.IntLike(0x7fff))
		kept := x.And(x.IntLike(0xffff)).Ne(x.IntLike(0)).Where(x.Or(x.IntLike(0x10000)), x)
		return high(finite.Where(rounded, kept)).Cast(uop.Uint16).BitcastTo(c.DType)
	}},
}}
