package lower

import (
	"sync"

	"polygrad/core/lower/opt"
	"polygrad/core/rewrite"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// Target is the capabilities of a code generator: the lowered list uses nothing else. A Target is immutable once in use.
type Target struct {
	// Name is the name of the code generator.
	Name string
	// Ops are its arithmetic operations; others are expressed by them.
	Ops uop.OpSet
	// Widths are the vector widths, greatest first, of loads and stores of a type; width 1 always works. Nil for none.
	Widths func(dt *uop.DType) []int
	// Optimize runs the optimiser; without it the kernel keeps the scheduler's loops.
	Optimize bool
	// Plain: the optimiser chooses nothing; every loop stays as it is after the ranges were simplified.
	Plain bool
	// Devectorize is the treatment of vectors: 0 keeps vector arithmetic, 1 makes it scalar.
	Devectorize int
	// Threads is the number of threads of a kernel, 0 or 1 for none.
	Threads int
	// Groups are the limits of workgroups, nil for a target without them.
	Groups *opt.Groups
	// Missing are the types that the target lacks.
	Missing []*uop.DType
	// Extra are rules of the target for the final pass, nil for none.
	Extra *rewrite.Table

	once   sync.Once
	tables *targetTables
}

// targetTables are the rule tables that depend on the target.
type targetTables struct {
	devectorize, decompose, transcendental, final *rewrite.Table
}

// Unordered: rules only read it.
func (t *Target) Unordered() {}

// computes reports whether an operation stays in the list: the target has it, or it is a fused multiply-add that core/nest expands for
// processors without one.
func (t *Target) computes(op uop.Op) bool { return t.Ops.Has(op) || t.Plain && op == uop.MulAcc }

// Supports reports whether the target has a type.
func (t *Target) Supports(dt *uop.DType) bool {
	for _, m := range t.Missing {
		if m == dt {
			return false
		}
	}
	return true
}

// Emulates reports whether kernels for the target may use a type, perhaps by emulation: all but missing wide floats.
func (t *Target) Emulates(dt *uop.DType) bool {
	return t.Supports(dt) || dt.IsInt() || smallFloats[dt] != nil
}

func (t *Target) accessWidths(buf *uop.DType) []int {
	if t.Widths == nil || buf.Space == uop.Reg {
		return nil
	}
	return t.Widths(buf.Base())
}

func (t *Target) table() *targetTables {
	t.once.Do(func() {
		vectors := []*rewrite.Table{symbolic.Sym}
		if t.Devectorize == 1 {
			vectors = append(vectors, scalarALU, scalarMemory)
		}
		vectors = append(vectors, loadStoreFolding, correctLoadStore, loadStoreIndexing)
		decompose := rewrite.Concat("decompositions", symbolic.SymbolicSimple, lateRules(t))
		final := []*rewrite.Table{decompose, renderRules}
		if t.Extra != nil {
			final = append(final, t.Extra)
		}
		t.tables = &targetTables{
			devectorize:    rewrite.Concat("devectorize", vectors...),
			decompose:      decompose,
			transcendental: rewrite.Concat("transcendental", symbolic.SymbolicSimple, transcendentalRules(t)),
			final:          rewrite.Concat("final rewrite", append(final, splitEnds)...),
		}
	})
	return t.tables
}
