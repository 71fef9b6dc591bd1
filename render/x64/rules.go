package x64

import (
	"polygrad/core/nest"
	"polygrad/render/x64/asm"
)

// rule says how values of an operation are computed: of these kinds (of the first argument where that decides: of
// comparisons, extractions and reductions), scalars or vectors, on processors that have what it needs.
type rule struct {
	op    nest.Op
	kinds kinds
	form  form
	level level
	make  maker
}

// maker emits the instructions for a value into its home and returns its register.
type maker func(g *gen, v *nest.Value) asm.Reg

// kinds is a set of kinds.
type kinds uint16

const (
	boolean kinds = 1 << nest.Bool
	i32     kinds = 1 << nest.I32
	u32     kinds = 1 << nest.U32
	i64     kinds = 1 << nest.I64
	u64     kinds = 1 << nest.U64
	f32     kinds = 1 << nest.F32
	f64     kinds = 1 << nest.F64

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

// level is what a rule needs of the processor.
type level uint8

const (
	sse    level = iota // SSE4.2
	avx2                // AVX2 or more
	avx512              // AVX-512
)

func (f Features) has(l level) bool {
	return l == sse || l == avx2 && (f.AVX2 || f.AVX512) || l == avx512 && f.AVX512
}

// table is the rules; the first that fits is taken.
var table = []rule{
	{nest.Splat, all, vector, sse, makeSplat},
	{nest.Extract, all, scalar, sse, makeExtract},
	{nest.Insert, all, vector, sse, makeInsert},
	{nest.Lane, ints, vector, sse, makeLane},
	{nest.Transpose, ints | floats, vector, sse, makeTranspose},
	{nest.Spread, ints | floats, vector, sse, makeSpread},
	{nest.AnyLane, boolean, scalar, sse, makeAnyLane},
	{nest.Sum, f32, scalar, sse, across(asm.VADDPS)},
	{nest.Sum, f64, scalar, sse, across(asm.VADDPD)},
	{nest.Sum, ints32, scalar, sse, across(asm.VPADDD)},
	{nest.Sum, ints64, scalar, sse, across(asm.VPADDQ)},
	{nest.Product, f32, scalar, sse, across(asm.VMULPS)},
	{nest.Product, f64, scalar, sse, across(asm.VMULPD)},
	{nest.Product, ints32, scalar, sse, across(asm.VPMULLD)},
	{nest.Product, ints64, scalar, avx512, across(asm.VPMULLQ)},
	{nest.Product, ints64, scalar, sse, acrossLanes},
	{nest.Highest, floats, scalar, sse, highestFloat},
	{nest.Highest, i32, scalar, sse, across(asm.VPMAXSD)},
	{nest.Highest, u32, scalar, sse, across(asm.VPMAXUD)},
	{nest.Highest, i64, scalar, avx512, across(asm.VPMAXSQ)},
	{nest.Highest, u64, scalar, avx512, across(asm.VPMAXUQ)},
	{nest.Highest, ints64, scalar, sse, acrossLanes},
	{nest.AndAll, ints, scalar, avx512, across(asm.VPANDD)},
	{nest.OrAll, ints, scalar, avx512, across(asm.VPORD)},
	{nest.XorAll, ints, scalar, avx512, across(asm.VPXORD)},
	{nest.AndAll, ints, scalar, sse, across(asm.VPAND)},
	{nest.OrAll, ints, scalar, sse, across(asm.VPOR)},
	{nest.XorAll, ints, scalar, sse, across(asm.VPXOR)},
	{nest.AndAll, boolean, scalar, sse, bitsAcross},
	{nest.OrAll, boolean, scalar, sse, bitsAcross},
	{nest.XorAll, boolean, scalar, sse, bitsAcross},
	{nest.Sum, boolean, scalar, sse, bitsAcross},
	{nest.Product, boolean, scalar, sse, bitsAcross},
	{nest.Highest, boolean, scalar, sse, bitsAcross},

	{nest.Add, f32, scalar, sse, commuting(asm.VADDSS)},
	{nest.Add, f64, scalar, sse, commuting(asm.VADDSD)},
	{nest.Add, f32, vector, sse, commuting(asm.VADDPS)},
	{nest.Add, f64, vector, sse, commuting(asm.VADDPD)},
	{nest.Add, ints, scalar, sse, alu(asm.ADD)},
	{nest.Add, ints32, vector, sse, commuting(asm.VPADDD)},
	{nest.Add, ints64, vector, sse, commuting(asm.VPADDQ)},
	{nest.Sub, f32, scalar, sse, inOrder(asm.VSUBSS)},
	{nest.Sub, f64, scalar, sse, inOrder(asm.VSUBSD)},
	{nest.Sub, f32, vector, sse, inOrder(asm.VSUBPS)},
	{nest.Sub, f64, vector, sse, inOrder(asm.VSUBPD)},
	{nest.Sub, ints, scalar, sse, alu(asm.SUB)},
	{nest.Sub, ints32, vector, sse, inOrder(asm.VPSUBD)},
	{nest.Sub, ints64, vector, sse, inOrder(asm.VPSUBQ)},
	{nest.Mul, f32, scalar, sse, commuting(asm.VMULSS)},
	{nest.Mul, f64, scalar, sse, commuting(asm.VMULSD)},
	{nest.Mul, f32, vector, sse, commuting(asm.VMULPS)},
	{nest.Mul, f64, vector, sse, commuting(asm.VMULPD)},
	{nest.Mul, ints, scalar, sse, makeProduct},
	{nest.Mul, ints32, vector, sse, commuting(asm.VPMULLD)},
	{nest.Mul, ints64, vector, avx512, commuting(asm.VPMULLQ)},
	{nest.Mul, ints64, vector, sse, mulWide},
	{nest.Div, f32, scalar, sse, inOrder(asm.VDIVSS)},
	{nest.Div, f64, scalar, sse, inOrder(asm.VDIVSD)},
	{nest.Div, f32, vector, sse, inOrder(asm.VDIVPS)},
	{nest.Div, f64, vector, sse, inOrder(asm.VDIVPD)},
	{nest.Div, ints, scalar, sse, divide},
	{nest.Mod, ints, scalar, sse, divide},
	{nest.Div, ints32, vector, avx2, divideVector},
	{nest.Mod, ints32, vector, avx2, divideVector},
	{nest.Div, ints, vector, sse, lanewise},
	{nest.Mod, ints, vector, sse, lanewise},
	{nest.Neg, floats, both, sse, negFloat},
	{nest.Neg, ints, scalar, sse, negScalar},
	{nest.Neg, ints, vector, sse, negVector},
	{nest.Abs, floats, both, sse, absFloat},
	{nest.Abs, u32 | u64, both, sse, same},
	{nest.Abs, i32 | i64, scalar, sse, absScalar},
	{nest.Abs, i32, vector, sse, unary(asm.VPABSD)},
	{nest.Abs, i64, vector, avx512, unary(asm.VPABSQ)},
	{nest.Abs, i64, vector, sse, absWide},
	{nest.Max, f32, scalar, sse, maxFloat(asm.VMAXSS)},
	{nest.Max, f64, scalar, sse, maxFloat(asm.VMAXSD)},
	{nest.Max, f32, vector, sse, maxFloat(asm.VMAXPS)},
	{nest.Max, f64, vector, sse, maxFloat(asm.VMAXPD)},
	{nest.Pick, f32, scalar, sse, swapped(asm.VMAXSS)},
	{nest.Pick, f64, scalar, sse, swapped(asm.VMAXSD)},
	{nest.Pick, f32, vector, sse, swapped(asm.VMAXPS)},
	{nest.Pick, f64, vector, sse, swapped(asm.VMAXPD)},
	{nest.Least, f32, scalar, sse, swapped(asm.VMINSS)},
	{nest.Least, f64, scalar, sse, swapped(asm.VMINSD)},
	{nest.Least, f32, vector, sse, swapped(asm.VMINPS)},
	{nest.Least, f64, vector, sse, swapped(asm.VMINPD)},
	{nest.Max, ints, scalar, sse, greaterScalar},
	{nest.Pick, ints, scalar, sse, greaterScalar},
	{nest.Least, ints, scalar, sse, greaterScalar},
	{nest.Max, i32, vector, sse, commuting(asm.VPMAXSD)},
	{nest.Max, u32, vector, sse, commuting(asm.VPMAXUD)},
	{nest.Max, i64, vector, avx512, commuting(asm.VPMAXSQ)},
	{nest.Max, u64, vector, avx512, commuting(asm.VPMAXUQ)},
	{nest.Max, ints64, vector, sse, greaterWide},
	{nest.Pick, i32, vector, sse, commuting(asm.VPMAXSD)},
	{nest.Pick, u32, vector, sse, commuting(asm.VPMAXUD)},
	{nest.Pick, i64, vector, avx512, commuting(asm.VPMAXSQ)},
	{nest.Pick, u64, vector, avx512, commuting(asm.VPMAXUQ)},
	{nest.Pick, ints64, vector, sse, greaterWide},
	{nest.Least, i32, vector, sse, commuting(asm.VPMINSD)},
	{nest.Least, u32, vector, sse, commuting(asm.VPMINUD)},
	{nest.Least, i64, vector, avx512, commuting(asm.VPMINSQ)},
	{nest.Least, u64, vector, avx512, commuting(asm.VPMINUQ)},
	{nest.Least, ints64, vector, sse, greaterWide},
	{nest.Sqrt, f32, scalar, sse, twice(asm.VSQRTSS)},
	{nest.Sqrt, f64, scalar, sse, twice(asm.VSQRTSD)},
	{nest.Sqrt, f32, vector, sse, unary(asm.VSQRTPS)},
	{nest.Sqrt, f64, vector, sse, unary(asm.VSQRTPD)},
	{nest.Trunc, floats, both, sse, rounded(toZero)},
	{nest.Round, floats, both, sse, rounded(toNearest)},
	{nest.Floor, floats, both, sse, rounded(toLower)},
	{nest.Trunc, ints, both, sse, same},
	{nest.Round, ints, both, sse, same},
	{nest.Floor, ints, both, sse, same},
	{nest.FMA, f32, scalar, avx2, fused(asm.VFMADD132SS)},
	{nest.FMA, f64, scalar, avx2, fused(asm.VFMADD132SD)},
	{nest.FMA, f32, vector, avx2, fused(asm.VFMADD132PS)},
	{nest.FMA, f64, vector, avx2, fused(asm.VFMADD132PD)},
	{nest.NFMA, f32, scalar, avx2, fused(asm.VFNMADD132SS)},
	{nest.NFMA, f64, scalar, avx2, fused(asm.VFNMADD132SD)},
	{nest.NFMA, f32, vector, avx2, fused(asm.VFNMADD132PS)},
	{nest.NFMA, f64, vector, avx2, fused(asm.VFNMADD132PD)},
	{nest.Scale, f32, scalar, avx512, inOrder(asm.VSCALEFSS)},
	{nest.Scale, f64, scalar, avx512, inOrder(asm.VSCALEFSD)},
	{nest.Scale, f32, vector, avx512, inOrder(asm.VSCALEFPS)},
	{nest.Scale, f64, vector, avx512, inOrder(asm.VSCALEFPD)},
	{nest.Exponent, floats, both, avx512, parts(asm.VGETEXPPS, asm.VGETEXPPD)},
	{nest.Fraction, floats, both, avx512, parts(asm.VGETMANTPS, asm.VGETMANTPD, fromPositive)},

	{nest.And, ints | boolean, scalar, sse, alu(asm.AND)},
	{nest.Or, ints | boolean, scalar, sse, alu(asm.OR)},
	{nest.Xor, ints | boolean, scalar, sse, alu(asm.XOR)},
	{nest.AndNot, ints | boolean, scalar, sse, andNotScalar},
	{nest.And, ints32, vector, avx512, commuting(asm.VPANDD)},
	{nest.Or, ints32, vector, avx512, commuting(asm.VPORD)},
	{nest.Xor, ints32, vector, avx512, commuting(asm.VPXORD)},
	{nest.AndNot, ints32, vector, avx512, swapped(asm.VPANDND)},
	{nest.And, ints64, vector, avx512, commuting(asm.VPANDQ)},
	{nest.Or, ints64, vector, avx512, commuting(asm.VPORQ)},
	{nest.Xor, ints64, vector, avx512, commuting(asm.VPXORQ)},
	{nest.AndNot, ints64, vector, avx512, swapped(asm.VPANDNQ)},
	{nest.And, ints, vector, sse, commuting(asm.VPAND)},
	{nest.Or, ints, vector, sse, commuting(asm.VPOR)},
	{nest.Xor, ints, vector, sse, commuting(asm.VPXOR)},
	{nest.AndNot, ints, vector, sse, swapped(asm.VPANDN)},
	{nest.Shl, ints, scalar, sse, shiftScalar},
	{nest.Shr, ints, scalar, sse, shiftScalar},
	{nest.Shl, ints, vector, sse, shiftVector},
	{nest.Shr, ints, vector, sse, shiftVector},
	// Bools.
	{nest.Mul, boolean, scalar, sse, alu(asm.AND)},
	{nest.Add, boolean, scalar, sse, alu(asm.OR)},
	{nest.Max, boolean, scalar, sse, alu(asm.OR)},
	{nest.Pick, boolean, scalar, sse, alu(asm.OR)},
	{nest.Sub, boolean, scalar, sse, alu(asm.XOR)},
	{nest.Neg, boolean, both, sse, same},
	{nest.And, boolean, vector, sse, logic},
	{nest.Or, boolean, vector, sse, logic},
	{nest.Xor, boolean, vector, sse, logic},
	{nest.AndNot, boolean, vector, sse, logic},
	{nest.Mul, boolean, vector, sse, logic},
	{nest.Add, boolean, vector, sse, logic},
	{nest.Max, boolean, vector, sse, logic},
	{nest.Pick, boolean, vector, sse, logic},
	{nest.Sub, boolean, vector, sse, logic},
	{nest.Less, boolean, vector, sse, logic},
	{nest.LessEqual, boolean, vector, sse, logic},
	{nest.Equal, boolean, vector, sse, logic},
	{nest.NotEqual, boolean, vector, sse, logic},

	{nest.Less, all, scalar, sse, compareScalar},
	{nest.LessEqual, all, scalar, sse, compareScalar},
	{nest.Equal, all, scalar, sse, compareScalar},
	{nest.NotEqual, all, scalar, sse, compareScalar},
	{nest.Less, ints | floats, vector, avx512, compareMask},
	{nest.LessEqual, ints | floats, vector, avx512, compareMask},
	{nest.Equal, ints | floats, vector, avx512, compareMask},
	{nest.NotEqual, ints | floats, vector, avx512, compareMask},
	{nest.Less, ints | floats, vector, sse, compareLanes},
	{nest.LessEqual, ints | floats, vector, sse, compareLanes},
	{nest.Equal, ints | floats, vector, sse, compareLanes},
	{nest.NotEqual, ints | floats, vector, sse, compareLanes},
	{nest.Where, ints | boolean, scalar, sse, chooseScalar},
	{nest.Where, floats, scalar, sse, chooseFloat},
	{nest.Where, all, vector, avx512, chooseMask},
	{nest.Where, all, vector, sse, chooseLanes},

	{nest.Cast, all, scalar, sse, castScalar},
	{nest.Cast, all, vector, sse, castVector},
	{nest.Bitcast, all, both, sse, makeBitcast},
	{nest.Narrow, f32, both, avx2, roundHalf},
}

// rulesOf is the table by operation.
var rulesOf [128][]rule

func init() {
	for _, r := range table {
		rulesOf[r.op] = append(rulesOf[r.op], r)
	}
}

// make computes a value.
func (g *gen) make(v *nest.Value) asm.Reg {
	switch v.Op {
	case nest.Const:
		return g.makeConst(v)
	case nest.Var:
		return g.argument(len(g.k.Params) + int(v.Bits))
	case nest.First:
		return g.argument(len(g.k.Params) + len(g.k.Vars))
	case nest.Items:
		return g.argument(len(g.k.Params) + len(g.k.Vars) + 1)
	case nest.Iter:
		return g.iterator(v.Loop)
	case nest.Final:
		return g.vals[v.Args[0].ID].reg
	case nest.Load:
		g.readyPlace(v.At)
		for _, a := range v.Args {
			g.ready(a)
		}
		return g.load(v)
	case nest.Narrow:
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
	case v.Op >= nest.Less && v.Op <= nest.NotEqual, v.Op == nest.Extract, v.Op >= nest.Sum && v.Op <= nest.AnyLane:
		k = v.Args[0].Kind
	}
	k = k.Register()
	for i, a := range v.Args {
		switch {
		case v.Op == nest.Transpose:
		case v.Op == nest.Where && i == 1 && g.maskable(a):
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
