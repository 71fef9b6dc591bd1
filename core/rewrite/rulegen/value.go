package main

import (
	"fmt"
	"slices"
	"strings"
)

// condition is the Go expression of a condition, with tests that the constants it looks into are scalar.
func (g *emitter) condition(e *expr) (string, error) {
	code, err := g.truth(e)
	if err != nil {
		return "", err
	}
	var guards []string
	for _, n := range valueNames(e, nil) {
		if v, ok := g.vars[n]; ok && !g.p.isConst(n) {
			guards = append(guards, v+".Op == uop.ConstOp")
		}
	}
	if len(guards) > 0 && strings.Contains(code, "||") {
		code = "(" + code + ")"
	}
	return strings.Join(append(guards, code), " && "), nil
}

// valueNames lists the names whose value, not node, is used.
func valueNames(e *expr, out []string) []string {
	switch e.kind {
	case exprName:
		if !slices.Contains(out, e.text) {
			out = append(out, e.text)
		}
	case exprCall:
		for _, a := range e.args {
			if a.kind == exprValue {
				out = valueNames(a, out)
			}
		}
	default:
		for _, a := range e.args {
			out = valueNames(a, out)
		}
	}
	return out
}

var comparisons = map[string]string{"==": "Eq", "<": "Less", ">": "Gt", "<=": "Le", ">=": "Ge"}

// truth is a Go expression of type bool.
func (g *emitter) truth(e *expr) (string, error) {
	switch {
	case e.kind == exprUnary && e.text == "!":
		x, err := g.truth(e.args[0])
		if strings.ContainsAny(x, " ") {
			x = "(" + x + ")"
		}
		return "!" + x, err
	case e.kind == exprBinary && (e.text == "&&" || e.text == "||"):
		a, err := g.truth(e.args[0])
		if err != nil {
			return "", err
		}
		b, err := g.truth(e.args[1])
		if e.text == "&&" {
			a, b = parenOr(a), parenOr(b)
		}
		return a + " " + e.text + " " + b, err
	case e.kind == exprBinary && (comparisons[e.text] != "" || e.text == "!="):
		return g.comparison(e)
	case e.kind == exprCall && e.text == "same" && len(e.args) == 2:
		a, err := g.node(e.args[0])
		if err != nil {
			return "", err
		}
		b, err := g.node(e.args[1])
		return a + " == " + b, err
	case e.kind == exprCall && e.text != "min" && e.text != "max":
		args, err := g.goArgs(e)
		return e.text + "(" + args + ")", err
	}
	v, err := g.value(e)
	return v + ".Truth()", err
}

func parenOr(s string) string {
	if strings.Contains(s, "||") {
		return "(" + s + ")"
	}
	return s
}

func (g *emitter) comparison(e *expr) (string, error) {
	a, err := g.value(e.args[0])
	if err != nil {
		return "", err
	}
	b, err := g.value(e.args[1])
	if e.text == "!=" {
		return fmt.Sprintf("!%s.Eq(%s)", a, b), err
	}
	return fmt.Sprintf("%s.%s(%s)", a, comparisons[e.text], b), err
}

var valueMethods = map[string]string{"+": "Add", "-": "Sub", "*": "Mul", "//": "FloorDiv", "%": "FloorMod"}

// value is a Go expression of type uop.Const.
func (g *emitter) value(e *expr) (string, error) {
	switch e.kind {
	case exprNumber:
		return goConst(e.text)
	case exprName:
		v, ok := g.vars[e.text]
		if !ok {
			return "", fmt.Errorf("unknown name %q", e.text)
		}
		return v + ".ConstVal()", nil
	case exprValue:
		return g.value(e.args[0])
	case exprUnary:
		if e.text == "-" {
			x, err := g.value(e.args[0])
			return x + ".Neg()", err
		}
	case exprBinary:
		if m := valueMethods[e.text]; m != "" {
			a, err := g.value(e.args[0])
			if err != nil {
				return "", err
			}
			b, err := g.value(e.args[1])
			return fmt.Sprintf("%s.%s(%s)", a, m, b), err
		}
	case exprCall:
		if e.text == "min" || e.text == "max" {
			x, err := g.node(e.args[0])
			return x + map[string]string{"min": ".Vmin()", "max": ".Vmax()"}[e.text], err
		}
		args, err := g.goArgs(e)
		return e.text + "(" + args + ")", err
	}
	return "", fmt.Errorf("%q is not a value", e.text)
}
