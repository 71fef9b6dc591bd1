package schedule

import (
	"fmt"
	"os"

	"polygrad/core/settings"
	"polygrad/core/uop"
)

// pass is one step from tensor graph to kernels.
type pass struct {
	name string
	run  func(*run) bool // reports whether the pass had anything to do; if not, it is not traced
	// gone are operations that must not be in the graph after the pass (inside kernels too).
	gone uop.OpSet
}

// passes is the whole way, in order.
var passes = []pass{
	{"number the uops", (*run).number, uop.OpSet{}},
	{"earliest rewrites", (*run).earliest, uop.Ops(uop.Detach, uop.ContiguousBackward)},
	{"get realize", (*run).getRealize, uop.OpSet{}},
	{"apply rangeify", (*run).rangeify, uop.Ops(uop.ReduceAxis)},
	{"symbolic+reduce_collapse+debuf", (*run).debuf, uop.OpSet{}},
	{"limit buffers", (*run).limitBuffers, uop.OpSet{}},
	{"bufferize to store", (*run).bufferize, uop.Ops(uop.Bufferize)},
	{"split kernels", (*run).splitKernels, uop.Ops(uop.Contiguous, uop.Noop, uop.Assign)},
	{"fix_assign", (*run).fixAssign, uop.OpSet{}},
	{"remove all tags", (*run).removeTags, uop.OpSet{}},
}

// PassNames are the names of all passes.
func PassNames() []string {
	names := make([]string, len(passes))
	for i, p := range passes {
		names[i] = p.name
	}
	return names
}

func (r *run) do(p pass) error {
	r.current = p.name
	before := r.root
	if !p.run(r) {
		return nil
	}
	if settings.Dumps(p.name) {
		fmt.Fprintf(os.Stderr, "--- before %s\n%s--- after %s\n%s", p.name, before.Dump(), p.name, r.root.Dump())
	}
	if r.trace != nil {
		r.trace(p.name, r.root)
	}
	if settings.Check.On() {
		return p.check(r.root)
	}
	return nil
}

// check verifies what a pass promises about the graph it leaves.
func (p pass) check(root *uop.UOp) error {
	if root.Op != uop.Sink {
		return fmt.Errorf("schedule: pass %q left %s, expected a SINK", p.name, root)
	}
	if u := root.Find(func(u *uop.UOp) bool { return p.gone.Has(u.Op) }); u != nil {
		return fmt.Errorf("schedule: pass %q left %s in the graph", p.name, u)
	}
	return nil
}
