package symbolic

import (
	"math"
	"math/rand"
	"os"
	"strings"
	"testing"

	"polygrad/core/rewrite"
	"polygrad/core/uop"
)

func TestSimplestForms(t *testing.T) {
	text, err := os.ReadFile("testdata/simplify.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases := 0
	for _, line := range strings.Split(string(text), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		cases++
		left, want, _ := strings.Cut(line, " = ")
		left, isSym := strings.CutPrefix(left, "sym: ")
		g := NewGraph().AsTinygrad()
		u := parseFormula(t, g, left)
		got := Simplify(u)
		if isSym {
			got = rewrite.Graph(u, Sym, nil)
		}
		if got.Render() != want {
			t.Errorf("%s is simplified to\n %s, not\n %s", left, got.Render(), want)
		}
		if i := differAt(u, got); i != nil {
			t.Errorf("%s is not %s at %v", left, got.Render(), i)
		}
	}
	if cases < 150 {
		t.Errorf("only %d cases", cases)
	}
}

// differAt computes two expressions of integers and conditions at random points; it returns a point where they differ.
func differAt(a, b *uop.UOp) map[string]uop.Const {
	if a.Find(func(u *uop.UOp) bool { return u.DType.IsFloat() }) != nil {
		return nil
	}
	rnd := rand.New(rand.NewSource(1))
	for range 200 {
		at := map[string]uop.Const{}
		x, y := compute(a, at, rnd), compute(b, at, rnd)
		if !x.Eq(y) {
			return at
		}
	}
	return nil
}

// compute is the value of an expression; variables without a value are given one.
func compute(u *uop.UOp, at map[string]uop.Const, rnd *rand.Rand) uop.Const {
	switch u.Op {
	case uop.ConstOp:
		return u.ConstVal()
	case uop.Cast:
		return compute(u.Src[0], at, rnd).As(u.DType)
	case uop.DefineVar, uop.Range:
		name := u.Render()
		if _, ok := at[name]; !ok {
			lo, hi := u.Bounds()
			at[name] = uop.Int(lo.I() + rnd.Int63n(hi.I()-lo.I()+1)).As(u.DType)
		}
		return at[name]
	}
	args := make([]uop.Const, len(u.Src))
	for i, s := range u.Src {
		args[i] = compute(s, at, rnd)
	}
	v, ok := uop.ExecALU(u.Op, args...)
	if !ok {
		panic("cannot compute " + u.String())
	}
	return v.As(u.DType)
}

func TestIndicesGetTheSmallestTypeTheyFit(t *testing.T) {
	g := NewGraph()
	concrete := func(u *uop.UOp) *uop.UOp { return rewrite.Graph(g.Sink(nil, u), LowerIndexDType, nil).Src[0] }
	small := g.Variable("n", uop.Int(0), uop.Int(100), uop.IndexT)
	if u := concrete(small.MulInt(1000).AddInt(1)); u.DType != uop.Int32 {
		t.Errorf("%s has type %s", u.Render(), u.DType)
	}
	if u := concrete(small.MulInt(1 << 40)); u.DType != uop.Int64 {
		t.Errorf("%s has type %s", u.Render(), u.DType)
	}
}

// Integers are unbounded in folding, but what an operation sees of them is their value in their type.
func TestConstantsWrapBeforeTheirValueCounts(t *testing.T) {
	g := NewGraph()
	sum := func(d *uop.DType, a, b int64) *uop.UOp {
		return g.Const(d, uop.Int(a)).Alu(uop.Add, g.Const(d, uop.Int(b)))
	}
	for i, c := range []struct {
		u    *uop.UOp
		want uop.Const
	}{
		{sum(uop.Uint8, 250, 10).Cast(uop.Float32), uop.Float(4)},
		{sum(uop.Uint8, 250, 10).Cast(uop.Int64), uop.Int(4)},
		{sum(uop.Int8, 120, 10).Cast(uop.Int32), uop.Int(-126)},
		{sum(uop.Uint32, 0, -1).Alu(uop.Idiv, g.Const(uop.Uint32, uop.Int(2))), uop.Int(1<<31 - 1)},
		{sum(uop.Uint32, 0, -1).Alu(uop.Max, g.Const(uop.Uint32, uop.Int(2))), uop.Int(1<<32 - 1)},
		{sum(uop.Uint8, 250, 10).Alu(uop.CmpLt, g.Const(uop.Uint8, uop.Int(100))), uop.BoolConst(true)},
		{sum(uop.IndexT, 1<<40, 1).Alu(uop.Mod, g.Const(uop.IndexT, uop.Int(1<<33))), uop.Int(1)},
	} {
		if got := Simplify(c.u); got.Op != uop.ConstOp || got.ConstVal().Truncate(c.u.DType) != c.want {
			t.Errorf("%d: %s, not %s", i, got, c.want)
		}
	}
}

// 3 to the power 2^40 has its low bits without the 2^41 bits of the number.
func TestRepeatedSquaresOfConstantsWrap(t *testing.T) {
	x, want := NewGraph().Const(uop.Int32, uop.Int(3)), int32(3)
	for range 40 {
		x, want = x.Alu(uop.Mul, x), want*want
	}
	if got := Simplify(x); got.Op != uop.ConstOp || got.ConstVal().Truncate(uop.Int32) != uop.Int(int64(want)) {
		t.Errorf("%s, not %d", got.Op, want)
	}
}

// A cast to a type that does not hold all values of the other wraps: nothing is known of its sign.
func TestBoundsOfCastsThatWrap(t *testing.T) {
	g := NewGraph()
	param := func(d *uop.DType) *uop.UOp {
		return g.Variable("x", d.Min(), d.Max(), d)
	}
	for _, c := range []struct {
		u      *uop.UOp
		lo, hi int64
	}{
		{param(uop.Uint16).Cast(uop.Int8), -128, 127},
		{param(uop.Uint8).Cast(uop.Int8), -128, 127},
		{param(uop.Int16).Cast(uop.Int8), -128, 127},
		{param(uop.Int8).Cast(uop.Int16), -128, 127},
		{param(uop.Uint8).Cast(uop.Int16), 0, 255},
		{g.Variable("n", uop.Int(3), uop.Int(100), uop.IndexT).Cast(uop.Int8), 3, 100},
		{g.Variable("n", uop.Int(3), uop.Int(130), uop.IndexT).Cast(uop.Int8), -128, 127},
	} {
		if lo, hi := c.u.Bounds(); lo.I() != c.lo || hi.I() != c.hi {
			t.Errorf("%s as %s is from %s to %s, expected %d to %d", c.u.Src[0].DType, c.u.DType, lo, hi, c.lo, c.hi)
		}
	}
	x := param(uop.Uint16).Cast(uop.Int8)
	if got := Simplify(x.Alu(uop.CmpLt, g.Const(uop.Int8, uop.Int(0)))); got.Op == uop.ConstOp {
		t.Errorf("the sign of a number that wraps is said to be known: %s", got)
	}
}

func TestNaNDiffersFromItself(t *testing.T) {
	g := NewGraph()
	nan := g.Const(uop.Float32, uop.Float(math.NaN()))
	zero := g.ConstVec(uop.Float32.Vec(2), []uop.Const{uop.Float(0), uop.Float(0)})
	for i, c := range []struct {
		u    *uop.UOp
		want bool
	}{
		{nan.Alu(uop.CmpNe, nan), true},
		{nan.Alu(uop.CmpEq, nan), false},
		{nan.Alu(uop.CmpLt, nan), false},
		{zero.Alu(uop.CmpLt, g.ConstVec(uop.Float32.Vec(2), []uop.Const{uop.Float(math.NaN()), uop.Float(1)})).GepN(1), true},
	} {
		if got := Simplify(c.u); got.Op != uop.ConstOp || got.ConstVal() != uop.BoolConst(c.want) {
			t.Errorf("%d: %s", i, got)
		}
	}
}

// TestSizesOfSeveralAxes divides by sizes that are sums, such as the length start+1 of a text: the size of several axes is
// multiplied out.
func TestSizesOfSeveralAxes(t *testing.T) {
	for text, want := range map[string]string{
		"((n*64+64)*b+a)//(n+1)":       "((b*64)+(a//(n+1)))",
		"((n*64+64)*b+a)%(n+1)":        "(a%(n+1))",
		"(n*64+64)*b*3//(n+1)":         "(b*192)",
		"((n+c*2)*6*b+a)//(n+c*2)":     "((b*6)+(a//(n+(c*2))))",
		"((n*64+32)*b+a)//(n+1)":       "((a+(b*((n*64)+32)))//(n+1))",
		"((n*64+64+c)*b+a)//(n+1)":     "((a+(b*((c+(n*64))+64)))//(n+1))",
		"((n*2+2)*b+a)//(n*4+4)":       "((a+(b*((n*2)+2)))//((n*4)+4))",
		"((n*64+c*64)*b+a)//(n+c*2+1)": "((a+(b*((c*64)+(n*64))))//((n+(c*2))+1))",
		"((n*n*2+n*2)*b+a)//(n*n+n)":   "((b*2)+(a//(n+(n*n))))",
	} {
		g := NewGraph()
		u := parseFormula(t, g, text)
		got := Simplify(u)
		if got.Render() != want {
			t.Errorf("%s is simplified to\n %s, not\n %s", text, got.Render(), want)
		}
		if i := differAt(u, got); i != nil {
			t.Errorf("%s is not %s at %v", text, got.Render(), i)
		}
	}
}

// Floats are divided, not multiplied by a rounded 1/c, but a quotient of constants is a constant: the gradient of a mean.
func TestQuotientsOfFloatConstants(t *testing.T) {
	g := NewGraph()
	one := g.New(uop.ConstOp, uop.Float32, nil, uop.Float(1), nil)
	third := one.ConstLike(uop.Float(3)).Recip()
	if got := Simplify(one.Mul(third)); got.Op != uop.ConstOp || got.ConstVal().F() != 1./3 {
		t.Errorf("1 * (1/3) is %s", got.Dump())
	}
	x := g.NewBuffer("CPU", 1, uop.Float32)
	if got := Simplify(x.Mul(third)); got != x.Mul(third) {
		t.Errorf("x * (1/3) is %s", got.Dump())
	}
}
