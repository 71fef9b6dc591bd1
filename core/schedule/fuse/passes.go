package fuse

import (
	"fmt"

	"polygrad/core/schedule"
	"polygrad/core/uop"
)

// Passes are the steps of the optimised pipeline in order: from a normalised request to a schedule of merged kernels.
var Passes = []schedule.Pass[*fuser]{
	{Name: "request", Reason: "STOREs become values and copies; an ASSIGN sees the ASSIGNs before it",
		Run: (*fuser).splitRequest, Leaves: tensorGraph},
	{Name: "share outputs", Reason: "users of the value of an output read the output",
		Run: graphPass(shareOutputs), Needs: tensorGraph, Leaves: tensorGraph},
	{Name: "sink permutes", Reason: "stored values have the memory layout of their operands: permutes move behind functions and reductions",
		Run: graphPass(sinkPermutes), Needs: tensorGraph, Leaves: tensorGraph},
	{Name: "store scattered rows", Reason: "rows that are contiguous in memory are scattered by vector stores",
		Run: graphPass(storeScattered), Needs: tensorGraph, Leaves: tensorGraph},
	{Name: "shrink reductions", Reason: "only the used elements of a reduction are computed and stored",
		Run: graphPass(shrinkReductions), Needs: tensorGraph, Leaves: tensorGraph},
	{Name: "factor reductions", Reason: "a factor that is the same for all terms of a sum is multiplied once, where the rest of the sum is computed less often",
		Run: (*fuser).factorReductions, Needs: tensorGraph, Leaves: tensorGraph},
	{Name: "split prefixes", Reason: "running reductions of few long rows are computed in parts, in parallel",
		Run: func(f *fuser) bool {
			return graphPass(func(u *uop.UOp) *uop.UOp { return splitPrefixes(u, f.o) })(f)
		}, Needs: tensorGraph, Leaves: tensorGraph},
	{Name: "store pads", Reason: "a contraction over a padded tensor needs no conditions if the padding is stored",
		Run: graphPass(storePads), Needs: tensorGraph, Leaves: tensorGraph},
	{Name: "kernels", Reason: "tinygrad's passes (core/schedule) make a kernel of each reduction and each stored value",
		Run: (*fuser).makeKernels, Needs: tensorGraph, Leaves: runnable},
	{Name: "drop copies", Reason: "what a scatter or a scan has written to a temporary is not copied to the output: the output is written",
		Run: (*fuser).dropCopies, Needs: runnable, Leaves: runnable},
	{Name: "moves", Reason: "elements are moved in the loop that finds their places: sorting by digits",
		Run: (*fuser).moveElements, Needs: runnable, Leaves: runnable, Unless: onGPU},
	{Name: "producers", Reason: "a reduction of a row is merged with the next operation on the row: the row is read from memory once",
		Run: (*fuser).fuseProducers, Needs: runnable, Leaves: runnable},
	{Name: "unroll choices", Reason: "expressions that share operands and are stored side by side are computed together: stacks, Fourier transforms",
		Run: (*fuser).unrollChoices, Needs: runnable, Leaves: runnable, Unless: onGPU},
	{Name: "siblings", Reason: "kernels that stream through the same data share its loads",
		Run: (*fuser).fuseSiblings, Needs: runnable, Leaves: runnable},
	{Name: "epilogues", Reason: "elementwise operations on the result of a contraction run in its tiles; last, when they are one kernel already",
		Run: (*fuser).fuseEpilogues, Needs: runnable, Leaves: runnable},
	{Name: "rematerialize", Reason: "a temporary is computed where it is read, if what is loaded there anyway makes that cheaper than storing it",
		Run: (*fuser).rematerialize, Needs: runnable, Leaves: runnable},
	{Name: "scatter sums", Reason: "the gradient of an embedding adds each term to its row, instead of testing all terms for each row of the table",
		Run: (*fuser).scatterSums, Needs: runnable, Leaves: runnable, Unless: onGPU},
	{Name: "row blocks", Reason: "the rows between two contractions stay in the cache, one block at a time: attention",
		Run: (*fuser).fuseRowBlocks, Needs: runnable, Leaves: runnable},
	{Name: "masked columns", Reason: "blocks of rows skip the columns whose scores a causal mask makes minus infinity",
		Run: (*fuser).skipMaskedColumns, Needs: runnable, Leaves: runnable},
	{Name: "masked blocks", Reason: "masked blocks of matrices that several kernels read are neither computed nor stored: training of causal attention",
		Run: (*fuser).skipMaskedBlocks, Needs: runnable, Leaves: runnable, Unless: onGPU},
	{Name: "pair words", Reason: "the two random words of a position are computed together; last, as masked blocks restrict loops that are not unrolled",
		Run: (*fuser).pairWords, Needs: runnable, Leaves: runnable, Unless: onGPU},
	{Name: "short rows", Reason: "functions of short rows, as a softmax of three classes, are computed of as many rows at once as vectors have lanes",
		Run: (*fuser).unrollShortRows, Needs: runnable, Leaves: runnable, Unless: onGPU},
	{Name: "store common", Reason: "a function that several kernels compute of the same elements is stored once, where that takes less time",
		Run: (*fuser).storeCommon, Needs: runnable, Leaves: runnable, Unless: onGPU},
	{Name: "split loops", Reason: "loops are split where a comparison of positions (of a padded or joined value) changes, so that no iteration compares",
		Run: (*fuser).splitLoops, Needs: runnable, Leaves: runnable, Unless: onGPU},
	{Name: "store operands", Reason: "what a kernel would load element by element is stored in order first, where the kernels as they are laid out take less time",
		Run: (*fuser).storeOperands, Needs: runnable, Leaves: runnable, Unless: onGPU},
	{Name: "reduce words", Reason: "any and all of stored bools combine a word of them at once",
		Run: (*fuser).reduceWords, Needs: runnable, Leaves: runnable, Unless: onGPU},
	{Name: "row functions", Reason: "functions of one number of each row, such as its sum, run in full vectors, in a kernel of their own, where one lane would take longer",
		Run: (*fuser).cutRowFunctions, Needs: runnable, Leaves: runnable, Unless: onGPU},
	{Name: "scratch rows", Reason: "functions that several loops over a row use are computed once, into scratch memory",
		Run: (*fuser).cacheFunctions, Needs: runnable, Leaves: runnable, Unless: onGPU},
	{Name: "emit", Reason: "fusion groups become kernels again",
		Run: (*fuser).emit, Needs: runnable, Leaves: emitted},
	{Name: "place", Reason: "unused temporaries are removed; the others, and the outputs, get memory",
		Run: (*fuser).place, Needs: emitted, Leaves: placed},
}

// onGPU: a pass that makes kernels with sequential loops or scratch memory, or that fills vectors, is for processors.
func onGPU(f *fuser) bool { return f.o.Invocations }

// PassNames are the names of all passes, and of the print of decisions.
func PassNames() []string { return append(schedule.Names(Passes), Dump) }

// New schedules a normalised request and merges its kernels. The hooks see each decision.
func New(root *uop.UOp, o Options, hooks ...func(Decision)) (s *schedule.Schedule, err error) {
	f := &fuser{root: root, o: o, hooks: hooks, dumping: dumping()}
	defer func() {
		if r := recover(); r != nil {
			if e, ok := r.(failure); ok {
				s, err = nil, e.err
			} else {
				s, err = nil, fmt.Errorf("fuse.New: pass %q: %v", f.current, r)
			}
		}
	}()
	for i := range Passes {
		f.current = Passes[i].Name
		if _, err := Passes[i].Do(f); err != nil {
			return nil, err
		}
	}
	return f.s, nil
}

// failure is an error that ends the passes.
type failure struct{ err error }

func must(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// fuser is the state of a run.
type fuser struct {
	o       Options
	hooks   []func(Decision)
	dumping bool
	current string // the pass that runs

	root    *uop.UOp // the tensor graph, nil when there are kernels
	request *schedule.Request
	s       *schedule.Schedule // nil before there are kernels
	// groups are the kernels in the order in which they run, slots what they work on.
	groups  []*group
	slots   []schedule.Slot
	next    contiguousAxes    // of values of the tensor graph
	stored  map[*uop.UOp]bool // results of storedForReduction
	ranges  int               // the last number of a range
	changed bool              // some kernel is no longer one of the scheduler
	placed  bool              // s is complete
}

// Dump lists the tensor graph, or the groups.
func (f *fuser) Dump() string {
	switch {
	case f.s == nil:
		return f.root.Dump()
	case f.placed:
		return f.s.Dump()
	}
	out := ""
	for _, g := range f.groups {
		out += fmt.Sprintf("kernel %s\n", numbers(g.kernels))
		if g.kernel != nil {
			out += g.kernel.AST.Dump()
		} else {
			out += g.body.root().Dump()
		}
	}
	return out
}

func (f *fuser) splitRequest() bool {
	r, err := schedule.NewRequest(f.root)
	must(err)
	f.request, f.root = r, r.Sink
	return true
}

// graphPass makes a pass of a function of tensor graphs.
func graphPass(fn func(*uop.UOp) *uop.UOp) func(*fuser) bool {
	return func(f *fuser) bool {
		before := f.root
		f.root = fn(before)
		return f.root != before
	}
}

func (f *fuser) makeKernels() bool {
	s, err := schedule.New(f.root, schedule.WithRows(f.o.Rows), schedule.WithStore(f.storeReread), schedule.WithMaxBuffers(f.o.KernelBuffers))
	must(err)
	f.s, f.slots = s, s.Slots
	for i, k := range s.Kernels {
		f.groups = append(f.groups, f.newGroup(k, []int{i}))
	}
	f.dropEqual()
	return true
}

// emit makes kernels of the groups that are none yet.
func (f *fuser) emit() bool {
	for _, g := range f.groups {
		if g.kernel == nil {
			k := f.kernelOf(g.body)
			g.kernel = &k
		}
	}
	return f.changed
}

func (f *fuser) place() bool {
	if f.changed {
		f.s.Kernels = f.s.Kernels[:0]
		for _, g := range f.groups {
			f.s.Kernels = append(f.s.Kernels, *g.kernel)
		}
		f.s.Slots = f.slots
		f.dropSlots()
		f.s.PlanMemory()
	}
	must(f.request.Place(f.s))
	f.placed = true
	return true
}
