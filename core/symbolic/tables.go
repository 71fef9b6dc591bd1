// Package symbolic is the algebra of scalars and indices: rules as text (symbolic.rules),
// what they need to know about sums, products and bounds, integer division, and validity.
//
// A result is equal to what it replaces for every value of the variables, in unbounded
// integers. Floats keep their NaNs and infinities, except in graphs that are AsTinygrad:
// there, as in tinygrad, x/x is 1 and x*0 is 0.
package symbolic

import (
	"polygrad/core/rewrite"
	"polygrad/core/uop"
)

//go:generate go run polygrad/core/rewrite/rulegen symbolic.rules

var (
	// SymbolicSimple are the identities that need no look at bounds.
	SymbolicSimple = &rewrite.Table{Name: "symbolic_simple", Parts: []*rewrite.Table{PropagateInvalid, simpleRules}}

	// Symbolic is SymbolicSimple with deeper rules on sums, comparisons, division and vectors. Simplify applies it. floatRules come before
	// x * 1 => x, so that the gradient of a mean is a factor 1/n, not a division by n.
	Symbolic = &rewrite.Table{Name: "symbolic", Parts: []*rewrite.Table{floatRules, SymbolicSimple, Commutative, symbolicRules, divmodRules, GepPushing}}

	// Sym is Symbolic with opinionated rules for kernels whose loops are fixed.
	Sym = &rewrite.Table{Name: "sym", Parts: []*rewrite.Table{Symbolic, SimplifyValid, symRules}}
)

// simplifyTable is Symbolic. Rules call Simplify, so that Symbolic would otherwise depend on itself in its initialisation.
var simplifyTable *rewrite.Table

func init() { simplifyTable = Symbolic }

// NewGraph makes a long-lived graph whose sizes are kept simplified.
func NewGraph() *uop.Graph { return uop.NewGraph(Simplify) }

// Simplify applies Symbolic to the graph below u until nothing changes. The result is kept at the node.
func Simplify(u *uop.UOp) *uop.UOp {
	if u.Op == uop.ConstOp || u.Op == uop.VConstOp {
		return u
	}
	if v, ok := u.Memo(uop.MemoSimplify); ok {
		return v
	}
	v := rewrite.Graph(u, simplifyTable, nil)
	u.SetMemo(uop.MemoSimplify, v)
	return v
}
