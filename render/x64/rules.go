package x64

import (
	"polygrad/core/nest/ir"
	"polygrad/render/x64/asm"
)

// rule computes the values of an operation: for these kinds (of the first argument for comparisons, extractions and reductions),
// scalars or vectors, on processors of this level.
type rule struct {
	op    ir.Op
	kinds kinds
	form  form
	level level
	make  maker
}

// maker emits the instructions for a value into its block and returns its register.
type maker func(g *gen, v *ir.Value) asm.Reg

// kinds is a set of kinds.
type kinds uint16

const (
	boolean kinds = 1 << ir.Bool
	i32     kinds = 1 << ir.I32
	u32     kinds = 1 << ir.U32
	i64     kinds = 1 << ir.I64
	u64     kinds = 1 << ir.U64
	f32     kinds = 1 << ir.F32
	f64     kinds = 1 << ir.F64

	ints32 = i32 | u32
	ints64 = i64 | u64
	ints   = ints32 | ints64
	floats = f32 | f64
	all    = boolean | ints | floats
)

type form uint8

const (
	scalar form = 1 << iota
	vector
	both = scalar | vector
)

// level is the processor level that a rule needs.
type level uint8

const (
	sse    level = iota // SSE4.2
	avx2                // AVX2 or more
	avx512              // AVX-512
)

func (f Features) has(l level) bool {
	return l == sse || l == avx2 && (f.AVX2 || f.AVX512) || l == avx512 && f.AVX512
}

// table is the rules; the first match is taken.
var table = []rule{
	{ir.Splat, all, vector, sse, makeSplat},
	{ir.Extract, all, scalar, sse, makeExtract},
	{ir.Insert, all, vector, sse, makeInsert},
	{ir.Lane, ints, vector, sse, makeLane},
	{ir.Transpose, ints | floats, vector, sse, makeTranspose},
	{ir.Spread, ints | floats, vector, sse, makeSpread},
	{ir.ShiftLanes, ints | floats, vector, sse, makeShiftLanes},
	{ir.Interleave, ints | floats, vector, sse, makeInterleave},
	{ir.Lookup, f32, both, avx512, makeLookup},
	{ir.AnyLane, boolean, scalar, sse, makeAnyLane},
	{ir.Sum, f32, scalar, sse, across(asm.VADDPS)},
	{ir.Sum, f64, scalar, sse, across(asm.VADDPD)},
	{ir.Sum, ints32, scalar, sse, across(asm.VPADDD)},
	{ir.Sum, ints64, scalar, sse, across(asm.VPADDQ)},
	{ir.Product, f32, scalar, sse, across(asm.VMULPS)},
	{ir.Product, f64, scalar, sse, across(asm.VMULPD)},
	{ir.Product, ints32, scalar, sse, across(asm.VPMULLD)},
	{ir.Product, ints64, scalar, avx512, across(asm.VPMULLQ)},
	{ir.Product, ints64, scalar, sse, acrossLanes},
	{ir.MaxLanes, floats, scalar, sse, highestFloat},
	{ir.MaxLanes, i32, scalar, sse, across(asm.VPMAXSD)},
	{ir.MaxLanes, u32, scalar, sse, across(asm.VPMAXUD)},
	{ir.MaxLanes, i64, scalar, avx512, across(asm.VPMAXSQ)},
	{ir.MaxLanes, u64, scalar, avx512, across(asm.VPMAXUQ)},
	{ir.MaxLanes, ints64, scalar, sse, acrossLanes},
	{ir.AndAll, ints, scalar, avx512, across(asm.VPANDD)},
	{ir.OrAll, ints, scalar, avx512, across(asm.VPORD)},
	{ir.XorAll, ints, scalar, avx512, across(asm.VPXORD)},
	{ir.AndAll, ints, scalar, sse, across(asm.VPAND)},
	{ir.OrAll, ints, scalar, sse, across(asm.VPOR)},
	{ir.XorAll, ints, scalar, sse, across(asm.VPXOR)},
	{ir.AndAll, boolean, scalar, sse, bitsAcross},
	{ir.OrAll, boolean, scalar, sse, bitsAcross},
	{ir.XorAll, boolean, scalar, sse, bitsAcross},
	{ir.Sum, boolean, scalar, sse, bitsAcross},
	{ir.Product, boolean, scalar, sse, bitsAcross},
	{ir.MaxLanes, boolean, scalar, sse, bitsAcross},

	{ir.Add, f32, scalar, sse, commuting(asm.VADDSS)},
	{ir.Add, f64, scalar, sse, commuting(asm.VADDSD)},
	{ir.Add, f32, vector, sse, commuting(asm.VADDPS)},
	{ir.Add, f64, vector, sse, commuting(asm.VADDPD)},
	{ir.Add, ints, scalar, sse, alu(asm.ADD)},
	{ir.Add, ints32, vector, sse, commuting(asm.VPADDD)},
	{ir.Add, ints64, vector, sse, commuting(asm.VPADDQ)},
	{ir.Sub, f32, scalar, sse, inOrder(asm.VSUBSS)},
	{ir.Sub, f64, scalar, sse, inOrder(asm.VSUBSD)},
	{ir.Sub, f32, vector, sse, inOrder(asm.VSUBPS)},
	{ir.Sub, f64, vector, sse, inOrder(asm.VSUBPD)},
	{ir.Sub, ints, scalar, sse, alu(asm.SUB)},
	{ir.Sub, ints32, vector, sse, inOrder(asm.VPSUBD)},
	{ir.Sub, ints64, vector, sse, inOrder(asm.VPSUBQ)},
	{ir.Mul, f32, scalar, sse, commuting(asm.VMULSS)},
	{ir.Mul, f64, scalar, sse, commuting(asm.VMULSD)},
	{ir.Mul, f32, vector, sse, commuting(asm.VMULPS)},
	{ir.Mul, f64, vector, sse, commuting(asm.VMULPD)},
	{ir.Mul, ints, scalar, sse, makeProduct},
	{ir.Mul, ints32, vector, sse, commuting(asm.VPMULLD)},
	{ir.Mul, ints64, vector, avx512, commuting(asm.VPMULLQ)},
	{ir.Mul, ints64, vector, sse, mulWide},
	{ir.Div, f32, scalar, sse, inOrder(asm.VDIVSS)},
	{ir.Div, f64, scalar, sse, inOrder(asm.VDIVSD)},
	{ir.Div, f32, vector, sse, inOrder(asm.VDIVPS)},
	{ir.Div, f64, vector, sse, inOrder(asm.VDIVPD)},
	{ir.Div, ints, scalar, sse, divide},
	{ir.Mod, ints, scalar, sse, divide},
	{ir.Div, ints32, vector, avx2, divideVector},
	{ir.Mod, ints32, vector, avx2, divideVector},
	{ir.Div, ints, vector, sse, lanewise},
	{ir.Mod, ints, vector, sse, lanewise},
	{ir.Neg, floats, both, sse, negFloat},
	{ir.Neg, ints, scalar, sse, negScalar},
	{ir.Neg, ints, vector, sse, negVector},
	{ir.Abs, floats, both, sse, absFloat},
	{ir.Abs, u32 | u64, both, sse, same},
	{ir.Abs, i32 | i64, scalar, sse, absScalar},
	{ir.Abs, i32, vector, sse, unary(asm.VPABSD)},
	{ir.Abs, i64, vector, avx512, unary(asm.VPABSQ)},
	{ir.Abs, i64, vector, sse, absWide},
	{ir.Max, f32, scalar, sse, maxFloat(asm.VMAXSS)},
	{ir.Max, f64, scalar, sse, maxFloat(asm.VMAXSD)},
	{ir.Max, f32, vector, sse, maxFloat(asm.VMAXPS)},
	{ir.Max, f64, vector, sse, maxFloat(asm.VMAXPD)},
	{ir.MaxSS, f32, scalar, sse, swapped(asm.VMAXSS)},
	{ir.MaxSS, f64, scalar, sse, swapped(asm.VMAXSD)},
	{ir.MaxSS, f32, vector, sse, swapped(asm.VMAXPS)},
	{ir.MaxSS, f64, vector, sse, swapped(asm.VMAXPD)},
	{ir.MinSS, f32, scalar, sse, swapped(asm.VMINSS)},
	{ir.MinSS, f64, scalar, sse, swapped(asm.VMINSD)},
	{ir.MinSS, f32, vector, sse, swapped(asm.VMINPS)},
	{ir.MinSS, f64, vector, sse, swapped(asm.VMINPD)},
	{ir.Max, ints, scalar, sse, greaterScalar},
	{ir.MaxSS, ints, scalar, sse, greaterScalar},
	{ir.MinSS, ints, scalar, sse, greaterScalar},
	{ir.Max, i32, vector, sse, commuting(asm.VPMAXSD)},
	{ir.Max, u32, vector, sse, commuting(asm.VPMAXUD)},
	{ir.Max, i64, vector, avx512, commuting(asm.VPMAXSQ)},
	{ir.Max, u64, vector, avx512, commuting(asm.VPMAXUQ)},
	{ir.Max, ints64, vector, sse, greaterWide},
	{ir.MaxSS, i32, vector, sse, commuting(asm.VPMAXSD)},
	{ir.MaxSS, u32, vector, sse, commuting(asm.VPMAXUD)},
	{ir.MaxSS, i64, vector, avx512, commuting(asm.VPMAXSQ)},
	{ir.MaxSS, u64, vector, avx512, commuting(asm.VPMAXUQ)},
	{ir.MaxSS, ints64, vector, sse, greaterWide},
	{ir.MinSS, i32, vector, sse, commuting(asm.VPMINSD)},
	{ir.MinSS, u32, vector, sse, commuting(asm.VPMINUD)},
	{ir.MinSS, i64, vector, avx512, commuting(asm.VPMINSQ)},
	{ir.MinSS, u64, vector, avx512, commuting(asm.VPMINUQ)},
	{ir.MinSS, ints64, vector, sse, greaterWide},
	{ir.Sqrt, f32, scalar, sse, twice(asm.VSQRTSS)},
	{ir.Sqrt, f64, scalar, sse, twice(asm.VSQRTSD)},
	{ir.Sqrt, f32, vector, sse, unary(asm.VSQRTPS)},
	{ir.Sqrt, f64, vector, avx512, rootByEstimate},
	{ir.Sqrt, f64, vector, sse, unary(asm.VSQRTPD)},
	{ir.Trunc, floats, both, sse, rounded(toZero)},
	{ir.Round, floats, both, sse, rounded(toNearest)},
	{ir.Floor, floats, both, sse, rounded(toLower)},
	{ir.Trunc, ints, both, sse, same},
	{ir.Round, ints, both, sse, same},
	{ir.Floor, ints, both, sse, same},
	{ir.FMA, f32, scalar, avx2, fused(asm.VFMADD132SS)},
	{ir.FMA, f64, scalar, avx2, fused(asm.VFMADD132SD)},
	{ir.FMA, f32, vector, avx2, fused(asm.VFMADD132PS)},
	{ir.FMA, f64, vector, avx2, fused(asm.VFMADD132PD)},
	{ir.NFMA, f32, scalar, avx2, fused(asm.VFNMADD132SS)},
	{ir.NFMA, f64, scalar, avx2, fused(asm.VFNMADD132SD)},
	{ir.NFMA, f32, vector, avx2, fused(asm.VFNMADD132PS)},
	{ir.NFMA, f64, vector, avx2, fused(asm.VFNMADD132PD)},
	{ir.Scale, f32, scalar, avx512, inOrder(asm.VSCALEFSS)},
	{ir.Scale, f64, scalar, avx512, inOrder(asm.VSCALEFSD)},
	{ir.Scale, f32, vector, avx512, inOrder(asm.VSCALEFPS)},
	{ir.Scale, f64, vector, avx512, inOrder(asm.VSCALEFPD)},
	{ir.Exponent, floats, both, avx512, exponentOrMantissa(asm.VGETEXPPS, asm.VGETEXPPD)},
	{ir.Fraction, floats, both, avx512, exponentOrMantissa(asm.VGETMANTPS, asm.VGETMANTPD, fromPositive)},

	{ir.And, ints | boolean, scalar, sse, alu(asm.AND)},
	{ir.Or, ints | boolean, scalar, sse, alu(asm.OR)},
	{ir.Xor, ints | boolean, scalar, sse, alu(asm.XOR)},
	{ir.AndNot, ints | boolean, scalar, sse, andNotScalar},
	{ir.And, ints32, vector, avx512, commuting(asm.VPANDD)},
	{ir.Or, ints32, vector, avx512, commuting(asm.VPORD)},
	{ir.Xor, ints32, vector, avx512, commuting(asm.VPXORD)},
	{ir.AndNot, ints32, vector, avx512, swapped(asm.VPANDND)},
	{ir.And, ints64, vector, avx512, commuting(asm.VPANDQ)},
	{ir.Or, ints64, vector, avx512, commuting(asm.VPORQ)},
	{ir.Xor, ints64, vector, avx512, commuting(asm.VPXORQ)},
	{ir.AndNot, ints64, vector, avx512, swapped(asm.VPANDNQ)},
	{ir.And, ints, vector, sse, commuting(asm.VPAND)},
	{ir.Or, ints, vector, sse, commuting(asm.VPOR)},
	{ir.Xor, ints, vector, sse, commuting(asm.VPXOR)},
	{ir.AndNot, ints, vector, sse, swapped(asm.VPANDN)},
	{ir.Shl, ints, scalar, sse, shiftScalar},
	{ir.Shr, ints, scalar, sse, shiftScalar},
	{ir.Shl, ints, vector, sse, shiftVector},
	{ir.Shr, ints, vector, sse, shiftVector},
	{ir.Rotate, u32 | u64, vector, avx512, rotate},
	// Bools.
	{ir.Mul, boolean, scalar, sse, alu(asm.AND)},
	{ir.Add, boolean, scalar, sse, alu(asm.OR)},
	{ir.Max, boolean, scalar, sse, alu(asm.OR)},
	{ir.MaxSS, boolean, scalar, sse, alu(asm.OR)},
	{ir.Sub, boolean, scalar, sse, alu(asm.XOR)},
	{ir.Neg, boolean, both, sse, same},
	{ir.And, boolean, vector, sse, logic},
	{ir.Or, boolean, vector, sse, logic},
	{ir.Xor, boolean, vector, sse, logic},
	{ir.AndNot, boolean, vector, sse, logic},
	{ir.Mul, boolean, vector, sse, logic},
	{ir.Add, boolean, vector, sse, logic},
	{ir.Max, boolean, vector, sse, logic},
	{ir.MaxSS, boolean, vector, sse, logic},
	{ir.Sub, boolean, vector, sse, logic},
	{ir.Less, boolean, vector, sse, logic},
	{ir.LessEqual, boolean, vector, sse, logic},
	{ir.Equal, boolean, vector, sse, logic},
	{ir.NotEqual, boolean, vector, sse, logic},

	{ir.Less, all, scalar, sse, compareScalar},
	{ir.LessEqual, all, scalar, sse, compareScalar},
	{ir.Equal, all, scalar, sse, compareScalar},
	{ir.NotEqual, all, scalar, sse, compareScalar},
	{ir.Less, ints | floats, vector, avx512, compareMask},
	{ir.LessEqual, ints | floats, vector, avx512, compareMask},
	{ir.Equal, ints | floats, vector, avx512, compareMask},
	{ir.NotEqual, ints | floats, vector, avx512, compareMask},
	{ir.Less, ints | floats, vector, sse, compareLanes},
	{ir.LessEqual, ints | floats, vector, sse, compareLanes},
	{ir.Equal, ints | floats, vector, sse, compareLanes},
	{ir.NotEqual, ints | floats, vector, sse, compareLanes},
	{ir.Where, ints | boolean, scalar, sse, chooseScalar},
	{ir.Where, floats, scalar, sse, chooseFloat},
	{ir.Where, all, vector, avx512, chooseMask},
	{ir.Where, all, vector, sse, chooseLanes},

	{ir.Cast, all, scalar, sse, castScalar},
	{ir.Cast, all, vector, sse, castVector},
	{ir.Bitcast, all, both, sse, makeBitcast},
	{ir.Narrow, f32, both, avx2, roundHalf},
}

// rulesOf is the table by operation.
var rulesOf [128][]rule

func init() {
	for _, r := range table {
		rulesOf[r.op] = append(rulesOf[r.op], r)
	}
}

// make computes a value.
func (g *gen) make(v *ir.Value) asm.Reg {
	switch v.Op {
	case ir.Const:
		return g.makeConst(v)
	case ir.Var:
		return g.argument(len(g.k.Params) + int(v.Bits))
	case ir.First:
		return g.argument(len(g.k.Params) + len(g.k.Vars))
	case ir.Items:
		return g.argument(len(g.k.Params) + len(g.k.Vars) + 1)
	case ir.Iter:
		return g.iterator(v.Loop)
	case ir.Final:
		return g.vals[v.Args[0].ID].reg
	case ir.Load:
		g.readyPlace(v.At)
		for _, a := range v.Args {
			g.ready(a)
		}
		return g.load(v)
	case ir.Xor:
		if g.isNotOfLoad(v) {
			g.readyPlace(v.Args[0].At)
			return g.loadNot(v.Args[0])
		}
	case ir.Narrow:
		if g.roundsHalves(v, halfDepth) {
			return g.fromHalf(v)
		}
	}
	f := scalar
	if v.Lanes > 1 {
		f = vector
	}
	k := v.Kind
	switch {
	case v.Op >= ir.Less && v.Op <= ir.NotEqual, v.Op == ir.Extract, v.Op >= ir.Sum && v.Op <= ir.AnyLane:
		k = v.Args[0].Kind
	}
	k = k.Register()
	for i, a := range v.Args {
		switch {
		case v.Op == ir.Transpose:
		case v.Op == ir.Where && i == 1 && g.maskable(a):
			for _, b := range a.Args {
				g.ready(b)
			}
		default:
			g.ready(a)
		}
	}
	for _, r := range rulesOf[v.Op] {
		if r.kinds>>k&1 != 0 && r.form&f != 0 && g.f.has(r.level) {
			return r.make(g, v)
		}
	}
	fail("operation %d on %v with %d lanes has no rule", v.Op, k, v.Lanes)
	return 0
}
