package fuse

import (
	"fmt"
	"os"
	"strings"

	"polygrad/core/settings"
	"polygrad/core/uop"
)

// Decision is the choice of a pass to merge two kernels, or to cut one in two, and the reason. It is made before the pass changes anything.
type Decision struct {
	// Pass is the name of the pass.
	Pass string
	// First and Second are the kernels, by their numbers before fusion; those of a fusion group are all its members. Second
	// is nil if the decision is about one kernel.
	First, Second []int
	// Value is the value of the tensor graph that is stored or recomputed, nil if the decision is about kernels.
	Value  *uop.UOp
	Reason Reason
	Costs  Costs
	// Limits are those that the costs were compared with.
	Limits Options
}

// Reason is the reason why kernels are merged or not.
type Reason uint8

// Reasons for a change.
const (
	// Pays: the result is legal and its costs are within the limits.
	Pays Reason = iota
	// Legality: the merged kernel would be wrong, or cannot be written down.
	Opaque            // a kernel has operations that fusion does not know
	OrderBetween      // a kernel must run between them
	ReadsOtherOrder   // the loops of a load of the consumer do not match those of the producer's store
	ReductionRepeated // a reduction of the producer would run again in loops of the consumer that it does not depend on
	StoresTwice       // both store to one buffer
	NoLoopOrder       // no order of the loops has each reduction and store at its depth
	Hazard            // an element would be read after another iteration has overwritten it
	Dependent         // one of two siblings needs the other
	HostOnly          // only one of them runs on the host, as the device lacks a type
	// Profit: the merged kernel would be right, but slower.
	ConsumerContracts  // the consumer is a matrix product or convolution, whose loops are tiled as they are
	ConsumerScatters   // the consumer is a scatter-add
	ProducerScatters   // the producer is a scatter-add, which the consumer's operations would prevent
	ContractionReduced // the consumer reduces over elements of a product
	SiblingContracts   // one of two siblings is a matrix product or convolution
	EpilogueLoops      // the epilogue of a product has other loops than the product
	EpilogueStores     // the epilogue of a product has too many outputs
	NothingShared      // siblings share no load that streams through the whole iteration space, and no costly function of all positions
	ShortRuns          // an innermost loop would jump through memory
	TooManyBuffers
	TooLarge     // too many operations: merging would take too long
	FewRows      // too few rows for the threads to share
	Recompute    // too much recomputation
	ShortRows    // the latency of dependent reductions of a row exceeds the saved memory traffic
	RowTooLarge  // a row that several loops stream through does not fit into its part of the cache
	FitsCache    // the rows between two products stay in the cache without blocks
	NoBlock      // no block height fits the cache, occupies the threads and is large enough
	RowsNeedAll  // blocks of rows need loops over whole rows
	RowsStored   // the device has no memory for a block of rows, and the kernel needs it
	FewTableRows // the table has so few rows that a sum over all terms for each is faster than a scatter
	// Values of the tensor graph: the first five are stored.
	CodeRepeated    // its code would be duplicated for each read
	TermsScattered  // a scatter-add, which has no epilogue
	NestedReduction // a reduction is read by another one
	RowsShared      // otherwise all threads would wait for a reduction to one value
	RereadPays      // it would be recomputed so often that storing it costs less
	ComputedOnce    // no user recomputes it
	CheapMask       // comparisons are cheaper than memory
	NarrowStored    // the source of the cast is smaller, and is stored instead
	CheapFactor     // a factor of a product that takes few operations
	CheapRecompute  // storing it costs more than recomputing it
)

var reasons = [...]string{
	Pays: "pays", Opaque: "opaque kernel", OrderBetween: "a kernel must run between them", ReadsOtherOrder: "reads in another order than stored",
	ReductionRepeated: "a reduction would be repeated", StoresTwice: "both store to one buffer", NoLoopOrder: "no order of the loops",
	Hazard: "reads what another iteration overwrites", Dependent: "one needs the other", HostOnly: "one runs on the host", ConsumerContracts: "the consumer is a contraction",
	ProducerScatters: "the producer scatters its terms",
	ConsumerScatters: "the consumer scatters its terms", ContractionReduced: "the consumer reduces a contraction", SiblingContracts: "one is a contraction", EpilogueLoops: "the epilogue has other loops",
	EpilogueStores: "too many outputs for an epilogue", NothingShared: "no streamed load and no costly function in common", ShortRuns: "innermost loop is not contiguous",
	TooManyBuffers: "too many buffers", TooLarge: "too many operations", FewRows: "too few rows for the threads", Recompute: "too much recomputation",
	ShortRows: "reductions of short rows wait for each other", RowTooLarge: "row does not fit the cache", FitsCache: "all rows fit the cache", NoBlock: "no block of rows fits",
	RowsNeedAll: "rows have no loops of their own", RowsStored: "no memory for a block of rows", FewTableRows: "too few rows to scatter",
	CodeRepeated:    "its code would be repeated too often",
	TermsScattered:  "its terms are added where they belong",
	NestedReduction: "another reduction reads it: apart, its loops can be tiled, and it runs once",
	RowsShared:      "threads share the loops that it would be computed before",
	RereadPays:      "computing it again costs more than memory", ComputedOnce: "computed once", CheapMask: "comparisons cost less than memory",
	NarrowStored: "what it is cast from takes less memory",
	CheapFactor:  "the tiles of a product compute it for many terms at once", CheapRecompute: "computing it again costs less than memory",
}

func (r Reason) String() string { return reasons[r] }

// stores reports whether a value of the tensor graph is stored.
func (r Reason) stores() bool { return r >= CodeRepeated && r <= RereadPays }

// Costs are the estimates for a merged kernel; those that a decision did not need are 0.
type Costs struct {
	// BytesSaved is the memory traffic that goes away: each buffer counts once for each kernel that reads it, and once for each
	// that writes it.
	BytesSaved int64
	// WorkBefore and WorkAfter estimate the arithmetic of a run.
	WorkBefore, WorkAfter float64
	// StallCycles is the additional latency of dependent reductions, RecomputeCycles the additional arithmetic (of a value: its
	// recomputation), SavedCycles the saved memory traffic, arithmetic and launch of a kernel.
	StallCycles, RecomputeCycles, SavedCycles float64
	// Rows is the trip count of the loops that both have in common, Iterations that of all loops.
	Rows, Iterations int64
	// RowBytes is what several loops stream through in a row, or the size of a row between two contractions.
	RowBytes int64
	// Buffers is the number of buffers, Stores that of outputs.
	Buffers, Stores int
	// BlockRows is the height of a block of rows.
	BlockRows int64
	// Elements is the number of elements of a value, Evaluations the number of evaluations of elements if it is not stored, Work the
	// operations of one evaluation, StoreCycles the cost of storing the elements and loading them.
	Elements, Evaluations int64
	Work, StoreCycles     float64
	// GatherCycles is the part of RecomputeCycles for loading elements one by one.
	GatherCycles float64
	// ChosenCycles is what selecting the elements one by one, once for the tiles of a product, costs more than a transpose in registers.
	ChosenCycles float64
	// Epilogue says that the consumer joins a contraction.
	Epilogue bool
}

// Fused reports whether the kernels are merged (or the one is cut in two).
func (d *Decision) Fused() bool { return d.Reason == Pays }

// judge compares the costs of a legal kernel with the limits.
func (o *Options) judge(c *Costs) Reason {
	switch {
	case c.Epilogue && c.Stores > maxEpilogueStores:
		return EpilogueStores
	case c.Buffers > o.MaxBuffers:
		return TooManyBuffers
	case c.Rows < o.MinRows && c.Iterations > o.SmallWork:
		return FewRows
	case c.RecomputeCycles > c.SavedCycles:
		return Recompute
	case c.RowBytes > o.RowBytes:
		return RowTooLarge
	case c.StallCycles+c.RecomputeCycles > c.SavedCycles:
		return ShortRows
	}
	return Pays
}

// text is the line of a decision about a value.
func (d *Decision) text() string {
	verdict := "inline"
	if d.Reason.stores() {
		verdict = "store"
	}
	v, c := d.Value, &d.Costs
	name := strings.ToLower(v.Op.String())
	if v.Op == uop.ReduceAxis {
		a := v.Arg.(uop.AxisReduce)
		name = fmt.Sprintf("reduction (%s of %s over axes %v)", strings.ToLower(a.Op.String()), v.Src[0].Shape(), a.Axes)
	}
	return fmt.Sprintf("%s: value %s of shape %s: %s: %s; %d elements, computed %d times, %g operations each: %.0f cycles more; storing them takes %.0f",
		d.Pass, name, v.Shape(), verdict, d.Reason, c.Elements, c.Evaluations, c.Work, c.RecomputeCycles, c.StoreCycles)
}

// String is a line: the pass, the kernels, the decision with its reason, and each estimated cost with its limit.
func (d *Decision) String() string {
	if d.Value != nil {
		return d.text()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", d.Pass, numbers(d.First))
	if d.Second != nil {
		fmt.Fprintf(&b, " -> %s", numbers(d.Second))
	}
	verdict := "keep"
	if d.Fused() {
		verdict = "fuse"
	}
	fmt.Fprintf(&b, ": %s: %s", verdict, d.Reason)
	c, o := &d.Costs, &d.Limits
	if c.WorkBefore > 0 {
		fmt.Fprintf(&b, "; saves %d bytes; work %g of %g; %d rows, wanted %d unless %d iterations are at most %d; row %d bytes, limit %d; %.0f cycles waited, %.0f computed again, %.0f saved; %d buffers, limit %d; %d stores",
			c.BytesSaved, c.WorkAfter, c.WorkBefore, c.Rows, o.MinRows, c.Iterations, o.SmallWork, c.RowBytes, o.RowBytes, c.StallCycles, c.RecomputeCycles, c.SavedCycles, c.Buffers, o.MaxBuffers, c.Stores)
	} else if c.Elements > 0 {
		fmt.Fprintf(&b, "; %.0f cycles, %.0f if %d elements are stored first", c.SavedCycles, c.StoreCycles, c.Elements)
	} else if c.Work > 0 {
		fmt.Fprintf(&b, "; %d rows, %g operations each: %.0f cycles saved, %.0f for a kernel", c.Rows, c.Work, c.SavedCycles, c.StoreCycles)
	} else if c.Rows > 0 {
		fmt.Fprintf(&b, "; %d rows of %d bytes; blocks of %d rows, at least %d, limit %d bytes", c.Rows, c.RowBytes, c.BlockRows, o.MinBlock, o.BlockBytes)
	}
	return b.String()
}

func numbers(kernels []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(kernels), "[]"), " ", "+")
}

// observe tells the hooks of a decision, and prints it for POLY_DUMP=fuse.
func (f *fuser) observe(first, second *group, r Reason, c Costs) {
	if len(f.hooks) == 0 && !f.dumping {
		return
	}
	d := Decision{Pass: f.current, First: first.kernels, Reason: r, Costs: c, Limits: f.o}
	if second != nil {
		d.Second = second.kernels
	}
	f.tell(&d)
}

// observeValue tells of a decision about a value of the tensor graph.
func (f *fuser) observeValue(v *uop.UOp, r Reason, c Costs) {
	if f.observed() && (len(f.hooks) > 0 || r != ComputedOnce) {
		f.tell(&Decision{Pass: f.current, Value: v, Reason: r, Costs: c, Limits: f.o})
	}
}

// observed reports whether anyone is told of decisions.
func (f *fuser) observed() bool { return len(f.hooks) > 0 || f.dumping }

func (f *fuser) tell(d *Decision) {
	for _, h := range f.hooks {
		h(*d)
	}
	if f.dumping {
		fmt.Fprintln(os.Stderr, d.String())
	}
}

// Dump is the value of POLY_DUMP that prints decisions.
const Dump = "fuse"

func dumping() bool { return settings.Dump.Get() == Dump }
