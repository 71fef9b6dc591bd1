package symbolic

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"polygrad/core/uop"
)

// formula reads the left sides of testdata/simplify.txt.
type formula struct {
	g    *uop.Graph
	rest string
}

func parseFormula(t *testing.T, g *uop.Graph, text string) *uop.UOp {
	t.Helper()
	f := &formula{g, strings.ReplaceAll(text, " ", "")}
	u, ok := f.level(0).(*uop.UOp)
	if !ok || f.rest != "" {
		t.Fatalf("%s: cannot read %q", text, f.rest)
	}
	return u
}

func (f *formula) accept(s string) bool {
	if strings.HasPrefix(f.rest, s) {
		f.rest = f.rest[len(s):]
		return true
	}
	return false
}

var formulaLevels = [][]string{{"<", "!="}, {"|"}, {"&"}, {"+", "-"}, {"//", "*", "/", "%"}}

// level reads operators that bind as tightly as those of a level, or more. The result is a *uop.UOp, or a Const for a number.
func (f *formula) level(n int) any {
	if n == len(formulaLevels) {
		return f.atom()
	}
	l := f.level(n + 1)
next:
	for _, op := range formulaLevels[n] {
		if f.accept(op) {
			l = f.binary(op, l, f.level(n+1))
			goto next
		}
	}
	return l
}

func (f *formula) binary(op string, a, b any) any {
	x, y := f.pair(a, b)
	switch op {
	case "+":
		return x.Add(y)
	case "-":
		return x.Sub(y)
	case "*":
		return x.Mul(y)
	case "//":
		return x.Idiv(y)
	case "%":
		return x.Mod(y)
	case "/":
		return x.Mul(y.Recip())
	case "<":
		return x.Lt(y)
	case "!=":
		return x.Ne(y)
	case "&":
		return x.And(y)
	}
	return x.Or(y)
}

// pair gives a number the type of the other operand.
func (f *formula) pair(a, b any) (x, y *uop.UOp) {
	x, _ = a.(*uop.UOp)
	y, _ = b.(*uop.UOp)
	if x == nil {
		x = y.ConstLike(a.(uop.Const))
	}
	if y == nil {
		y = x.ConstLike(b.(uop.Const))
	}
	return x, y
}

func (f *formula) atom() any {
	if f.accept("(") {
		u := f.level(0)
		f.accept(")")
		return u
	}
	if f.accept("-") {
		switch x := f.atom().(type) {
		case uop.Const:
			return x.Neg()
		case *uop.UOp:
			return x.Neg()
		}
	}
	n := 0
	for n < len(f.rest) && (f.rest[n] >= '0' && f.rest[n] <= '9' || f.rest[n] >= 'A' && f.rest[n] <= 'z' || f.rest[n] == '.') {
		n++
	}
	word := f.rest[:n]
	f.rest = f.rest[n:]
	if f.accept("(") {
		var args []any
		for !f.accept(")") {
			args = append(args, f.level(0))
			f.accept(",")
		}
		return f.call(word, args)
	}
	return f.name(word)
}

func (f *formula) name(word string) any {
	index := func(lo, hi int64) *uop.UOp { return f.g.Variable(word, uop.Int(lo), uop.Int(hi), uop.IndexT) }
	switch word {
	case "True", "False":
		return uop.BoolConst(word == "True")
	case "a", "n":
		return index(map[string]int64{"a": 0, "n": 1}[word], 8)
	case "b":
		return index(0, 3)
	case "c":
		return index(0, 100)
	case "s":
		return index(-10, 10)
	case "t":
		return index(-5, 0)
	case "r0":
		return f.g.Range(uop.N(4), uop.AxisLoop, 0)
	case "r1":
		return f.g.Range(uop.N(12), uop.AxisLoop, 1)
	case "p", "q":
		return f.g.Variable(word, uop.BoolConst(false), uop.BoolConst(true), uop.Bool)
	case "x", "y", "z":
		return f.g.Variable(word, uop.Float(math.Inf(-1)), uop.Float(math.Inf(1)), uop.Float32)
	}
	if v, err := strconv.ParseInt(word, 10, 64); err == nil {
		return uop.Int(v)
	}
	v, err := strconv.ParseFloat(word, 64)
	if err != nil {
		panic(fmt.Sprintf("unknown name %q", word))
	}
	return uop.Float(v)
}

func (f *formula) call(name string, args []any) any {
	x, _ := args[0].(*uop.UOp)
	switch name {
	case "where":
		a, b := f.pair(args[1], args[2])
		return x.Where(a, b)
	case "max", "pow", "eq":
		a, b := f.pair(args[0], args[1])
		return map[string]func() *uop.UOp{"max": func() *uop.UOp { return a.Maximum(b) },
			"pow": func() *uop.UOp { return a.Alu(uop.Pow, b) }, "eq": func() *uop.UOp { return a.Eq(b) }}[name]()
	case "no":
		return x.Not()
	case "rcp":
		return x.Recip()
	case "trunc":
		return x.TruncF()
	case "i32":
		return x.Cast(uop.Int32)
	case "i64":
		return x.Cast(uop.Int64)
	case "f32":
		return x.Cast(uop.Float32)
	}
	panic("unknown function " + name)
}
