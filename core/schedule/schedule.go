// Package schedule turns a graph of tensor operations into kernels, in the order in
// which they run, and the buffers they run on.
//
// The work is a list of passes over one graph; their names and what each leaves
// behind are tinygrad's, so that the graph can be compared with tinygrad's after
// every pass. Everything here is for one device: a COPY may come from another one.
package schedule

import (
	"fmt"
	"slices"
	"strings"

	"polygrad/core/uop"
)

// Schedule is the kernels and copies that compute the sources of a SINK.
type Schedule struct {
	// Kernels are in the order in which they run.
	Kernels []Kernel
	// Slots are the buffers that the kernels work on.
	Slots []Slot
	// Outputs has an entry for each source of the SINK.
	Outputs []Output
	// Loops are the kernels that are repeated, outer loops before those in them.
	Loops []Loop
	// Copies take effect simultaneously, before the first kernel.
	Copies []Copy
	// ArenaBytes is the size of the memory in which all temporaries lie.
	ArenaBytes int64
}

// Kernel is one kernel or copy of a schedule.
type Kernel struct {
	// AST is a SINK with a KernelInfo, or a COPY. Equal kernels of one schedule have the same AST.
	AST *uop.UOp
	// Bufs are the slots of the PARAMs of the AST: Bufs[i] is PARAM i.
	Bufs []int
	// Vars are the DEFINE_VARs in the AST, by name.
	Vars []*uop.UOp
}

// Slot is a buffer. One that is neither input nor output is a temporary and lies in the arena.
type Slot struct {
	DType *uop.DType
	// Size is in elements.
	Size int64
	// Input is the index among the buffers that Normalize found, -1 if it is none of them.
	Input int
	// Output is the index of the first source of the SINK whose value is in the buffer, -1 if there is none.
	Output int
	// Offset is the place of a temporary in the arena, in bytes.
	Offset int64
}

// Output is the place of the value of a source of the SINK.
type Output struct {
	// Slot is the buffer that the kernels write the value to; -1 if nothing has to run for it,
	// because it is a constant or a view of an input.
	Slot int
	// Target is the input that a Request stores the value to, -1 if there is none.
	Target int
	// Value is the source with all that was computed replaced by its buffer: movement operations on a BUFFER, PARAM or CONST.
	Value *uop.UOp
}

// Dump lists buffers, kernels, and where the outputs go.
func (s *Schedule) Dump() string {
	var b strings.Builder
	for i, x := range s.Slots {
		fmt.Fprintf(&b, "slot %d: %d %s", i, x.Size, x.DType)
		switch {
		case x.Input >= 0:
			fmt.Fprintf(&b, ", input %d", x.Input)
		case x.Output < 0:
			fmt.Fprintf(&b, ", at %d of %d bytes", x.Offset, s.ArenaBytes)
		}
		if x.Output >= 0 {
			fmt.Fprintf(&b, ", output %d", x.Output)
		}
		b.WriteByte('\n')
	}
	for _, c := range s.Copies {
		fmt.Fprintf(&b, "input %d = input %d\n", c.To, c.From)
	}
	for i, k := range s.Kernels {
		fmt.Fprintf(&b, "kernel %d on slots %v\n%s", i, k.Bufs, k.AST.Dump())
	}
	for _, l := range s.Loops {
		fmt.Fprintf(&b, "kernels %d to %d are run for each %s", l.First, l.Last-1, l.Variable)
		if l.While >= 0 {
			fmt.Fprintf(&b, " while slot %d is true", l.While)
		}
		b.WriteByte('\n')
	}
	for i, o := range s.Outputs {
		fmt.Fprintf(&b, "output %d: slot %d", i, o.Slot)
		if o.Target >= 0 {
			fmt.Fprintf(&b, ", to input %d", o.Target)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Option changes how New works.
type Option func(*run)

// WithTrace calls f with the graph after each pass. The pass "kernel split" is traced once for each kernel.
func WithTrace(f func(pass string, root *uop.UOp)) Option { return func(r *run) { r.trace = f } }

// WithMaxBuffers limits the number of buffers of one kernel, for devices that have a limit. 0 is no limit.
func WithMaxBuffers(n int) Option { return func(r *run) { r.maxBuffers = n } }

// WithShapes stores the values of a request in their shapes. Without it a value is stored flat, which matches the loops of kernels that use
// it flat.
func WithShapes() Option { return func(r *run) { r.shapes = true } }

// WithRows keeps reductions to at least n values in one kernel, because n are enough to keep all threads busy. Without it
// a reduction is split in two whenever each value takes many inputs, as tinygrad does for devices with many more threads.
func WithRows(n int64) Option { return func(r *run) { r.rows = n } }

// WithStore materialises the values that a function selects instead of inlining them.
func WithStore(f func(Reread) bool) Option { return func(r *run) { r.store = f } }

// run is the state of one scheduling.
type run struct {
	shapes     bool
	g          *uop.Graph
	root       *uop.UOp // the SINK
	numbered   []*uop.UOp
	folded     map[int]*uop.UOp // constants that nodes turned into, by their number
	index      *indexing
	becomes    map[*uop.UOp]*uop.UOp
	trace      func(pass string, root *uop.UOp)
	maxBuffers int
	rows       int64
	store      func(Reread) bool
	current    string // the pass that runs
}

// New schedules what Normalize returned. The result does not depend on the graph of root, which is only read.
func New(root *uop.UOp, opts ...Option) (s *Schedule, err error) {
	if root == nil || root.Op != uop.Sink {
		return nil, fmt.Errorf("schedule.New: root is %v, expected a SINK", root)
	}
	r := &run{g: root.Graph().Scratch(), current: "import"}
	for _, o := range opts {
		o(r)
	}
	defer func() {
		if e := recover(); e != nil {
			s, err = nil, fmt.Errorf("schedule.New: pass %q: %v", r.current, e)
		}
	}()
	r.root = r.g.Import(root)
	if err := checkOps(r.root); err != nil {
		return nil, err
	}
	wanted := r.root.Src
	values, err := r.compile(wanted)
	if err != nil {
		return nil, err
	}
	var late []int // sources without a value: their kernels run last
	if bases, lost := basesOfLost(wanted, values); len(lost) > 0 {
		r = &run{g: r.g, root: r.g.Sink(nil, bases...), maxBuffers: r.maxBuffers, rows: r.rows, store: r.store}
		if values, err = r.compile(wanted); err != nil {
			return nil, err
		}
		late = lost
	}
	r.current = "create schedule"
	return build(r.g, values, late)
}

// compile runs all passes. The result is the wanted nodes with each computed buffer replaced by its AFTER, nil for those that got no buffer.
func (r *run) compile(wanted []*uop.UOp) ([]*uop.UOp, error) {
	for i := range passes {
		if err := r.do(&passes[i]); err != nil {
			return nil, err
		}
	}
	values := make([]*uop.UOp, len(wanted))
	for i, s := range wanted {
		values[i] = r.computedForm(s)
	}
	return values, nil
}

// basesOfLost replaces wanted nodes without a value by their base, and returns which. A wanted view that is also used in the graph can lose
// its number (as in tinygrad) if its base is inlined or loses an axis. The base itself cannot.
func basesOfLost(wanted, values []*uop.UOp) (bases []*uop.UOp, lost []int) {
	bases = slices.Clone(wanted)
	for i, v := range values {
		if v == nil {
			bases[i] = wanted[i].Base()
			for isCopyOfContiguous(bases[i]) || sameValue.Has(bases[i].Op) {
				bases[i] = bases[i].Src[0].Base()
			}
			lost = append(lost, i)
		}
	}
	return bases, lost
}

// tensorOps are the operations of tensor graphs.
var tensorOps = uop.GroupElementwise.Union(uop.GroupMovement, uop.Ops(uop.Sink, uop.ConstOp, uop.VConstOp, uop.Device, uop.LUnique,
	uop.Param, uop.Bind, uop.DefineVar, uop.Copy, uop.Contiguous, uop.ContiguousBackward, uop.Detach, uop.Assign, uop.After, uop.ReduceAxis, uop.PrefixAxis, uop.Scatter, uop.Fetch, uop.Sort, uop.Loops,
	uop.Vectorize, uop.Noop))

// afterAssignTo reports whether an AFTER is a buffer after an ASSIGN to it or to a part of it.
func afterAssignTo(u *uop.UOp) bool {
	buffer := u.Src[0].Base()
	return len(u.Src) == 2 && buffer.Op == uop.Param && u.Src[1].Op == uop.Assign && u.Src[1].Src[0].Base() == buffer
}

func checkOps(root *uop.UOp) error {
	if u := root.Find(func(u *uop.UOp) bool { return !tensorOps.Has(u.Op) }); u != nil {
		return fmt.Errorf("schedule.New: %s in the graph, expected a normalized tensor graph", u)
	}
	if u := root.Find(func(u *uop.UOp) bool { return u.Op == uop.After && !afterAssignTo(u) }); u != nil {
		return fmt.Errorf("schedule.New: %s in the graph, expected a buffer after one ASSIGN to it", u)
	}
	return nil
}
