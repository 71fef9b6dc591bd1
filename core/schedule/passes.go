package schedule

import (
	"fmt"
	"os"

	"polygrad/core/settings"
	"polygrad/core/uop"
)

// Pass is a step of scheduling or fusion: a function of a state S with invariants before and after it.
type Pass[S interface{ Dump() string }] struct {
	// Name is the value of POLY_DUMP, Reason the purpose of the pass.
	Name, Reason string
	// Run reports whether it changed anything.
	Run func(S) bool
	// Needs hold before the pass, Leaves after it: POLY_CHECK=1 verifies that.
	Needs, Leaves []Invariant[S]
	// Unless says where the pass does not run, nil for nowhere.
	Unless func(S) bool
}

// Invariant is a property of the state between passes.
type Invariant[S any] struct {
	Name  string
	Check func(S) error
}

// Do runs the pass, with dumps and checks around it.
func (p *Pass[S]) Do(state S) (changed bool, err error) {
	if p.Unless != nil && p.Unless(state) {
		return false, nil
	}
	if err := p.check("before", p.Needs, state); err != nil {
		return false, err
	}
	before := ""
	if settings.Dumps(p.Name) {
		before = state.Dump()
	}
	changed = p.Run(state)
	if changed && before != "" {
		fmt.Fprintf(os.Stderr, "--- before %s\n%s--- after %s\n%s", p.Name, before, p.Name, state.Dump())
	}
	return changed, p.check("after", p.Leaves, state)
}

func (p *Pass[S]) check(when string, invariants []Invariant[S], state S) error {
	if len(invariants) == 0 || !settings.Check.On() {
		return nil
	}
	for _, i := range invariants {
		if err := i.Check(state); err != nil {
			return fmt.Errorf("schedule: %s pass %q: %s: %w", when, p.Name, i.Name, err)
		}
	}
	return nil
}

// Names are the names of the passes of a table.
func Names[S interface{ Dump() string }](table []Pass[S]) []string {
	names := make([]string, len(table))
	for i := range table {
		names[i] = table[i].Name
	}
	return names
}

// PassNames are the names of all passes from tensor graph to kernels.
func PassNames() []string { return Names(passes) }

// passes are the steps from tensor graph to kernels, with tinygrad's names.
var passes = []Pass[*run]{
	{Name: "number the uops", Run: (*run).number, Leaves: without()},
	{Name: "earliest rewrites", Run: (*run).earliest, Leaves: without(uop.Detach, uop.ContiguousBackward)},
	{Name: "get realize", Run: (*run).getRealize, Leaves: without()},
	{Name: "apply rangeify", Run: (*run).rangeify, Leaves: without(uop.ReduceAxis, uop.PrefixAxis)},
	{Name: "symbolic+reduce_collapse+debuf", Run: (*run).debuf, Leaves: without()},
	{Name: "limit buffers", Run: (*run).limitBuffers, Leaves: without()},
	{Name: "bufferize to store", Run: (*run).bufferize, Leaves: without(uop.Bufferize)},
	{Name: "split kernels", Run: (*run).splitKernels, Leaves: without(uop.Contiguous, uop.Noop, uop.Assign)},
	{Name: "fix_assign", Run: (*run).fixAssign, Leaves: without()},
	{Name: "remove all tags", Run: (*run).removeTags, Leaves: without()},
}

// without is the invariant that operations are gone from the graph and from kernels.
func without(ops ...uop.Op) []Invariant[*run] {
	gone, name := uop.Ops(ops...), "a SINK without"
	for _, o := range ops {
		name += " " + o.String()
	}
	return []Invariant[*run]{{name, func(r *run) error {
		if r.root.Op != uop.Sink {
			return fmt.Errorf("the root is %s", r.root)
		}
		if u := r.root.Find(func(u *uop.UOp) bool { return gone.Has(u.Op) }); u != nil {
			return fmt.Errorf("%s is in the graph", u)
		}
		return nil
	}}}
}

// Dump lists the graph.
func (r *run) Dump() string { return r.root.Dump() }

func (r *run) do(p *Pass[*run]) error {
	r.current = p.Name
	changed, err := p.Do(r)
	if changed && r.trace != nil {
		r.trace(p.Name, r.root)
	}
	return err
}
