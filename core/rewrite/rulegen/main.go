// Command rulegen compiles .rules files to Go.
//
//	//go:generate go run polygrad/core/rewrite/rulegen symbolic.rules
//
// For each file x.rules it writes x_rules.go next to it: one function per rule,
// made of nested ifs, and one rewrite.Table per `table` of the file.
//
// A rule is a line `pattern => result`, or `pattern => result if condition else result …`:
//
//	x + 0 => x
//	(x//c1)*c3 + x%c1*c2 => x*c2 if c1*c2 == c3
//
// The order of the lines is the order in which the rules are tried. A line that
// begins with white space continues the line before; # begins a comment.
//
// # Patterns
//
//   - a name stands for any node; a name that occurs twice must be the same node twice; _ is any node
//   - c, c0, c1 … are constants (CONST or VCONST), k, k0, k1 … scalar constants (CONST)
//   - 0, -1, true, Invalid are the CONST with an equal value (as in Python, 0 equals 0.0 and false)
//   - x:index and CAST:uint32(x) ask for an element type: any scalar type, or
//     int (integers), sint (signed ones), anyint (int, index), integral (int, bool, index)
//   - + - * // % & | ^ << >> < != are operations, with Python's precedence; x/y is x * RECIPROCAL(y), !x is x != true
//   - CAST(x), WHERE(a, b, c): an operation with exactly these sources; CAST alone: with any sources;
//     END(x, ...): with these first sources; VECTORIZE(CONST...): every source matches
//   - Binary(x, y), {LOAD STORE}(x), {Binary - Comparison}(x, y): one operation of a set
//   - OP(x, y): the operation of the whole pattern
//   - n@PATTERN names a node that is not a plain name; REDUCE[ADD](x): the arg is an operation
//   - CAST?(p): p itself, or a CAST of p
//
// Both orders of the operands of the commutative infix operators and of MAX are
// tried, the written one first. Operations written as calls keep their order,
// unless marked: Associative~(x, y). Where several sources match in several ways,
// the choices of the first source vary slowest.
//
// # Results
//
// Names, operators and operations mean nodes: -x is x * -1, x - y is x + y * -1, and a number
// takes the type of the other operand. A number alone is a constant like the node that is
// replaced; like(x, 0) is one like x. CAST[t](x) casts to a type or to the type of node t.
// OP(x, y) is the operation of the replaced node, which itself is called u.
// f(x, [v]) with a lower-case name calls a Go function of the package on nodes and values;
// it may return nil, and then the next way to match is tried.
//
// # Values
//
// Conditions, and [ ] in results, compute with values of constants instead: exact
// integers, // and % rounding down. c is the value of constant c, min(x) and max(x)
// are the bounds of x, same(x, y) says whether two names are one node, f(x) calls a Go
// function. A condition on the value of a VCONST is false.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: rulegen file.rules …")
		os.Exit(2)
	}
	for _, name := range os.Args[1:] {
		if err := compileFile(name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func compileFile(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	out, err := generate(name, string(text))
	if err != nil {
		return err
	}
	return os.WriteFile(outputName(name), out, 0o644)
}

// outputName is x_rules.go for x.rules.
func outputName(name string) string { return strings.TrimSuffix(name, ".rules") + "_rules.go" }

// packageName is the name of the Go package that a file of rules belongs to: that of its directory.
func packageName(name string) (string, error) {
	abs, err := filepath.Abs(name)
	return filepath.Base(filepath.Dir(abs)), err
}
