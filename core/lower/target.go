package lower

import (
	"sync"

	"polygrad/core/lower/opt"
	"polygrad/core/rewrite"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// Target is what a code generator can do: lowering leaves nothing else in the list. A Target is not changed once it is in use.
type Target struct {
	// Name is the name of the code generator.
	Name string
	// Ops are the arithmetic operations it has; others are expressed by them.
	Ops uop.OpSet
	// Widths are the numbers of elements, greatest first, that can be loaded and stored at once from memory of a
	// type; single elements always can. Nil for none.
	Widths func(dt *uop.DType) []int
	// Optimize asks for the optimiser; without it the kernel keeps the loops that the scheduler gave it.
	Optimize bool
	// Plain says that the optimiser chooses nothing: every loop stays as it is after the ranges were simplified.
	Plain bool
	// Devectorize says what becomes of vectors: 0 keeps arithmetic on them, 1 makes it scalar.
	Devectorize int
	// Threads is the number of threads that a kernel may be spread over, 0 or 1 for none.
	Threads int
	// Groups says how it runs a kernel as work items in workgroups, nil if it does not.
	Groups *opt.Groups
	// Missing are the types that the target does not have.
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

// Unordered says that rules only read it.
func (t *Target) Unordered() {}

// Supports reports whether the target has a type.
func (t *Target) Supports(dt *uop.DType) bool {
	for _, m := range t.Missing {
		if m == dt {
			return false
		}
	}
	return true
}

// Emulates reports whether kernels for the target may use a type, perhaps one that it does not have: those that are missing
// are emulated, but for the wide floats.
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
