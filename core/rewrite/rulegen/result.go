package main

import (
	"fmt"
	"slices"
	"strings"
)

// useNames collects the names of nodes that an expression mentions.
func useNames(e *expr, used map[string]bool) {
	if e.kind == exprName {
		used[e.text] = true
	}
	if e.param != nil && e.param.kind == exprName {
		used[e.param.text] = true
	}
	for _, a := range e.args {
		useNames(a, used)
	}
}

// choices writes the results of a rule, each under its condition.
func (g *emitter) choices(cs []choice) error {
	for _, c := range cs {
		if err := g.choice(c); err != nil {
			return err
		}
	}
	return nil
}

func (g *emitter) choice(c choice) error {
	guarded := false
	if c.cond != nil {
		cond, err := g.condition(c.cond)
		if err != nil {
			return err
		}
		g.line("if %s {", cond)
		guarded = true
	}
	code, mayBeNil, err := g.result(c.result)
	if err != nil {
		return err
	}
	if mayBeNil && (guarded || len(g.loops) > 0) {
		g.line("if r := %s; r != nil {\nreturn r\n}", code)
	} else {
		g.line("return %s", code)
		g.ended = !guarded && len(g.loops) == 0
	}
	if guarded {
		g.line("}")
	}
	return nil
}

// result is the Go expression of a whole result. Calls of Go functions may give nil.
func (g *emitter) result(e *expr) (code string, mayBeNil bool, err error) {
	switch {
	case e.kind == exprNumber || e.kind == exprValue:
		v, err := g.constant(e)
		return "u.ConstLike(" + v + ")", false, err
	case e.kind == exprCall && !isUpper(e.text) && e.text != "like":
		args, err := g.goArgs(e)
		return e.text + "(" + args + ")", true, err
	}
	code, err = g.node(e)
	return code, false, err
}

// goArgs are the arguments of a Go function: nodes, and values in brackets.
func (g *emitter) goArgs(e *expr) (string, error) {
	args := make([]string, len(e.args))
	for i, a := range e.args {
		var err error
		if a.kind == exprValue || a.kind == exprNumber {
			args[i], err = g.constant(a)
		} else {
			args[i], err = g.node(a)
		}
		if err != nil {
			return "", err
		}
	}
	return strings.Join(args, ", "), nil
}

// constant is the Go expression of a number or of a value in brackets.
func (g *emitter) constant(e *expr) (string, error) {
	if e.kind == exprNumber {
		if e.text == "nan" {
			g.imports["math"] = true
		}
		return goConst(e.text)
	}
	return g.value(e.args[0])
}

func isConstant(e *expr) bool { return e.kind == exprNumber || e.kind == exprValue }

var methods = map[string]string{"+": "Add", "-": "Sub", "*": "Mul", "//": "Idiv", "%": "Mod", "&": "And", "|": "Or", "^": "Xor",
	"<<": "Shl", ">>": "Shr", "<": "Lt", ">": "Gt", "!=": "Ne", "==": "Eq", ">=": "Ge", "<=": "Le"}

// callMethods are operations written as calls, by their name in results.
var callMethods = map[string]string{"WHERE": "Where", "MAX": "Maximum", "RECIPROCAL": "Recip", "EXP2": "Exp2", "LOG2": "Log2",
	"SQRT": "Sqrt", "SIN": "Sin", "TRUNC": "TruncF"}

// node is the Go expression of a node.
func (g *emitter) node(e *expr) (string, error) {
	switch e.kind {
	case exprName:
		v, ok := g.vars[e.text]
		if !ok {
			return "", fmt.Errorf("unknown name %q", e.text)
		}
		return v, nil
	case exprUnary:
		x, err := g.node(e.args[0])
		return x + map[string]string{"-": ".Neg()", "!": ".Not()"}[e.text], err
	case exprBinary:
		return g.binary(e)
	case exprCall:
		return g.call(e)
	}
	return "", fmt.Errorf("a constant alone has no type here: write like(x, …)")
}

// hold puts a node into a variable, unless it is one.
func (g *emitter) hold(code string) string {
	if !strings.ContainsAny(code, ".(") {
		return code
	}
	v := g.fresh("t")
	g.line("%s := %s", v, code)
	return v
}

func (g *emitter) binary(e *expr) (string, error) {
	a, b := e.args[0], e.args[1]
	m := methods[e.text]
	switch {
	case isConstant(a):
		v, err := g.constant(a)
		if err != nil {
			return "", err
		}
		x, err := g.node(b)
		x = g.hold(x)
		return fmt.Sprintf("%s.ConstLike(%s).%s(%s)", x, v, m, x), err
	case isConstant(b):
		x, err := g.node(a)
		if err != nil {
			return "", err
		}
		v, err := g.constant(b)
		if n, ok := strings.CutPrefix(v, "uop.Int("); ok && slices.Contains([]string{"Add", "Sub", "Mul", "Idiv", "Mod", "Lt"}, m) && !strings.Contains(n, "(") {
			return fmt.Sprintf("%s.%sInt(%s", x, m, n), err
		}
		x = g.hold(x)
		return fmt.Sprintf("%s.%s(%s.ConstLike(%s))", x, m, x, v), err
	}
	x, err := g.node(a)
	if err != nil {
		return "", err
	}
	y, err := g.node(b)
	if e.text == "/" {
		return fmt.Sprintf("%s.Mul(%s.Recip())", x, y), err
	}
	return fmt.Sprintf("%s.%s(%s)", x, m, y), err
}

func (g *emitter) call(e *expr) (string, error) {
	switch {
	case e.text == "like" && len(e.args) == 2:
		x, err := g.node(e.args[0])
		if err != nil {
			return "", err
		}
		v, err := g.constant(e.args[1])
		return fmt.Sprintf("%s.ConstLike(%s)", x, v), err
	case e.text == "CAST" && e.param != nil && len(e.args) == 1:
		x, err := g.node(e.args[0])
		if err != nil {
			return "", err
		}
		t, err := g.castType(e.param.text)
		return fmt.Sprintf("%s.Cast(%s)", x, t), err
	}
	var args []string
	for _, a := range e.args {
		x, err := g.node(a)
		if err != nil {
			return "", err
		}
		args = append(args, x)
	}
	list := strings.Join(args, ", ")
	switch m := callMethods[e.text]; {
	case len(args) == 0:
		return "", fmt.Errorf("%s without arguments", e.text)
	case e.text == "OP":
		return fmt.Sprintf("%s.Alu(u.Op, %s)", args[0], strings.Join(args[1:], ", ")), nil
	case m != "":
		return fmt.Sprintf("%s.%s(%s)", args[0], m, strings.Join(args[1:], ", ")), nil
	case isUpper(e.text):
		return "", fmt.Errorf("%s cannot be used in a result", e.text)
	}
	return e.text + "(" + list + ")", nil
}

// castType is a type, or the type of a named node.
func (g *emitter) castType(name string) (string, error) {
	if v, ok := g.vars[name]; ok {
		return v + ".DType", nil
	}
	return goType(name)
}
