package parity

import (
	"fmt"
	"strings"

	"polygrad/core/uop"
	"polygrad/tests/parity/dump"
)

// Pass is a graph after a named pass.
type Pass struct {
	Name  string
	Nodes []dump.Node
}

// Trace is the graphs of one stage ("schedule", "kernel0" …) in order.
type Trace struct {
	Stage  string
	Passes []Pass
}

// Record adds the graph below root. It fits the hooks of the scheduler and of the lowering.
func (t *Trace) Record(pass string, root *uop.UOp) {
	t.Passes = append(t.Passes, Pass{pass, dump.Graph(root)})
}

// Difference says where a trace first departs from the reference.
type Difference struct {
	Stage, Pass string
	// Want and Got are the graphs after the pass, Before the reference graph it started from. Got is nil if the pass did not run.
	Before, Want, Got []dump.Node
}

// String names the pass and the first node that differs.
func (d *Difference) String() string {
	switch {
	case d.Got == nil:
		return fmt.Sprintf("%s: pass %q did not run", d.Stage, d.Pass)
	default:
		return fmt.Sprintf("%s: pass %q, node %d", d.Stage, d.Pass, dump.Diff(d.Want, d.Got, true))
	}
}

// Detail prints both graphs from a few nodes before the first difference.
func (d *Difference) Detail() string {
	var b strings.Builder
	fmt.Fprintf(&b, "--- before %q (%d nodes)\n%s", d.Pass, len(d.Before), listing(d.Before, 0))
	i := dump.Diff(d.Want, d.Got, true)
	fmt.Fprintf(&b, "--- tinygrad (%d nodes)\n%s", len(d.Want), listing(d.Want, i))
	fmt.Fprintf(&b, "--- here (%d nodes)\n%s", len(d.Got), listing(d.Got, i))
	return b.String()
}

func listing(list []dump.Node, mark int) string {
	var b strings.Builder
	for i, n := range list {
		arrow := ' '
		if i == mark && mark > 0 {
			arrow = '>'
		}
		fmt.Fprintf(&b, "%c%4d %s\n", arrow, i, n)
	}
	return b.String()
}

// FirstDifference compares the trace of a stage with the reference. Passes that the reference has and the trace
// lacks, because they are no passes here, may be named in skip.
func FirstDifference(ref dump.Stage, got Trace, skip map[string]bool) *Difference {
	k := 0
	var before []dump.Node
	for _, p := range ref.Passes {
		if p.Nodes == nil || skip[p.Name] {
			continue
		}
		i := k
		for i < len(got.Passes) && got.Passes[i].Name != p.Name {
			i++
		}
		d := &Difference{Stage: ref.Stage, Pass: p.Name, Before: before, Want: p.Nodes}
		if i == len(got.Passes) {
			return d
		}
		if d.Got = got.Passes[i].Nodes; dump.Diff(p.Nodes, d.Got, true) >= 0 {
			return d
		}
		before, k = p.Nodes, i+1
	}
	return nil
}
