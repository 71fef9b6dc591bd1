package plan

import (
	"math"
	"slices"

	"polygrad/core/nest/analysis"
	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// Kernel is the layout of all loops of a kernel. It does not change once it is made.
type Kernel struct {
	*analysis.Facts
	Machine ir.Machine
	Lanes   int
	// Group is the number of invocations of a workgroup if they are not the lanes of vectors. Subgroups: invocations exchange values through
	// registers.
	Group     int
	Subgroups bool
	// Masks: all accesses can be masked.
	Masks bool
	// Items is the number of work items; 1 for serial kernels, which have more than one nest of loops.
	Items int64
	// Setup is the share of the work that every call repeats, whatever its number of items: packing before the loop over the
	// work items, or the loop around strips of rows.
	Setup float64
	bands []*Band // in the order of their first loops
	// BandOf is the band of its outermost loop, ReductionOf the plan of a reduction loop.
	BandOf      map[*analysis.Region]*Band
	ReductionOf map[*analysis.Region]*Reduction
	// Prefetches are made at each iteration of a reduction loop, or at each tile of a band, for its leaf.
	Prefetches map[*analysis.Region][]Prefetch
	// Online is the layout of online softmax, nil for other kernels.
	Online *OnlineSoftmax
	// Memory is the scratch memory of the list, of packed operands, and of partial results between passes.
	Memory ir.ScratchMemory
	Layout Layout
}

// planner makes the plan of a kernel.
type planner struct {
	*Kernel
	m ir.Machine
	// Lanes is the number of lanes of vectors.
	Lanes int
	// plain kernels keep their loops as they are.
	plain, serial bool
	// collects: the kernel has reductions.
	collects   bool
	wanted     []Knobs
	prefetched map[*uop.UOp]bool // the loads of Prefetches
}

// Spreadable reports whether a kernel may be laid out for workgroups of a GPU, whose invocations are the lanes of vectors: it is an online
// softmax, or one band with bounded trip counts in which no iteration reads what another one writes, since that would need barriers.
// Kernels without reductions do not need workgroups, unless they transpose.
func Spreadable(f *analysis.Facts, m ir.Machine) bool {
	if newOnline(f, m) != nil {
		return true
	}
	if along, _ := transposedLoops(f, m); along == nil && !f.Tree.Collects() {
		return false
	}
	return (len(f.Changing) == 0 || inPlace(f)) && f.Memory.Bytes == 0 && !f.Tree.AnyInOrder() &&
		!slices.ContainsFunc(f.Tree.Loops(), func(r *analysis.Region) bool { return !laidOut(r, m, 1) })
}

// inPlace reports whether the loops are one band whose iterations read only their own stores, such as the update of an optimizer fused
// with the gradient.
func inPlace(f *analysis.Facts) bool {
	loops := f.Tree.Loops()
	if len(loops) != 1 || f.Tree.HasStores() || !loops[0].Writes {
		return false
	}
	c := analysis.Chain(loops[0])
	return f.Independent(c[len(c)-1])
}

// laidOut reports whether the trip counts of the loops of a band, and of all bands in it, are known, or at least bounded, and their product with n
// fits an index. Where a processor emulates a GPU (Machine.Shared is 0), there are caches, but barriers are slow: loops with variable trip counts are
// not laid out for workgroups then.
func laidOut(r *analysis.Region, m ir.Machine, n int64) bool {
	if !r.Writes {
		return true
	}
	n *= max(r.Bound(), 1)
	known := r.Trip() >= 0 || r.Bound() >= 0 && n <= math.MaxInt32 && m.Shared > 0
	return known && !slices.ContainsFunc(r.Loops(), func(in *analysis.Region) bool { return !laidOut(in, m, n) })
}

// Make plans a kernel for a machine: by the wanted knobs, and by heuristics for knobs that are open. The loops of a plain kernel stay as
// they are.
func Make(f *analysis.Facts, m ir.Machine, wanted []Knobs, plain bool) (k *Kernel, err error) {
	defer ir.Recover(&err)
	lanes := m.Lanes
	if f.Wide {
		lanes = m.WideLanes
	}
	if m.Invocations && plain {
		lanes = 1
	}
	k = &Kernel{
		Facts: f, Machine: m, Lanes: lanes, Group: usualLanes, Subgroups: m.Subgroups, Masks: m.Masks && f.Maskable(m.MaskedSize), Items: 1, BandOf: map[*analysis.Region]*Band{},
		ReductionOf: map[*analysis.Region]*Reduction{}, Prefetches: map[*analysis.Region][]Prefetch{}, Memory: f.Memory,
	}
	pl := &planner{
		Kernel: k, m: m, Lanes: lanes, plain: plain, collects: f.Tree.Collects(), wanted: wanted, prefetched: map[*uop.UOp]bool{},
		serial: len(f.Tree.Loops()) != 1 || f.Tree.HasStores(),
	}
	pl.region(f.Tree, nil)
	prefetchSite{planner: pl, region: f.Tree}.planPrefetches() // of sums outside of bands
	return k, nil
}

// region plans the loops of a region: the leaf of a band, or the loops outside of all bands.
func (pl *planner) region(r *analysis.Region, around *Band) {
	for _, in := range r.Loops() {
		if !in.Writes {
			pl.reduction(in, around)
			continue
		}
		p := pl.plan(analysis.Chain(in), around)
		pl.BandOf[in] = p
		pl.bands = append(pl.bands, p)
		if pl.Online == nil {
			pl.region(p.Leaf, p)
		}
		pl.finish(p, around)
	}
}

// finish plans what depends on the layout of a band: stores, prefetches, accumulators.
func (pl *planner) finish(p, around *Band) {
	if !pl.m.Invocations {
		p.planTransposedStores(pl)
		p.planInterleaved(pl)
	}
	prefetchSite{planner: pl, p: p, around: around, region: p.Leaf}.planPrefetches()
	p.planStreams(pl)
	p.recordWays(pl)
}

// reductionForm is how the iterations of a reduction loop run.
type reductionForm uint8

const (
	Sequential      reductionForm = iota // as they stand
	Unrolled                             // unrolled, each copy with its own accumulator
	Along                                // vectorized
	AlongUnknown                         // vectorized, with a trip count that is known at run time
	AroundVectors                        // as they stand, around a vectorized loop that continues the same vector accumulators
	InStages                             // in stages with operands in workgroup memory
	AcrossLanes                          // distributed over the lanes of Band.Split
	InOnlineSoftmax                      // the second product of Kernel.Online
)

// Reduction is the plan of a reduction loop.
type Reduction struct {
	Loop *analysis.Region
	Form reductionForm
	// Series is the nest of loops whose steps are distributed over lanes.
	Series *SumLoops
	// Lanes is the number of iterations of a step of one accumulator. Multiple divides the trip count.
	Lanes, Multiple int64
	// updates is the number of reduced registers, weight the number of operations of an iteration.
	updates, weight int64
	// chains is how many accumulators hide the latency of an operation.
	chains int64
	// wanted is the requested number of accumulators, 0 if it is open.
	wanted int64
	// long: an iteration does several steps of each accumulator, because iterations are slow on the machine.
	long bool
	// Held: all iterations of a lane are unrolled (Band.Held).
	Held bool
	// siblings is the number of sums of the leaf: if there are many, each is unrolled less, to keep the code short.
	siblings int64
}

// reduction plans a reduction loop and the loops inside; around is the enclosing band, nil for none.
func (pl *planner) reduction(r *analysis.Region, around *Band) {
	n := &Reduction{Loop: r, Form: Unrolled, chains: chains, Lanes: 1, Multiple: r.TripMultiple(), updates: int64(len(r.Updates)), weight: pl.Weight(r), long: pl.m.SlowLoops, siblings: 1}
	if len(r.Updates) > 0 && r.Updates[0].Slot.Reg.DType.Base().IsBool() {
		n.chains = boolChains
	}
	if pl.m.Invocations {
		n.chains = invocationChains
		if pl.m.Shared > 0 {
			n.chains = loadChains
		}
		if n.weight > lightBody {
			n.chains = 1
		}
	}
	lanes := int64(pl.Lanes)
	// A sum without an enclosing band has a single result.
	spread := around == nil && !pl.plain || around != nil && around.Along
	switch {
	case len(r.Loops()) > 0 || !r.Simple():
		n.Form = Sequential
	case r.Trip() < 0 && spread:
		n.Form, n.Lanes = AlongUnknown, lanes
	case r.Trip() >= 0 && spread:
		n.Form, n.Lanes = Along, lanes
	}
	if around != nil {
		n.Held = around.Held
		n.wanted, n.siblings = around.want[knobPartialSums], int64(max(len(around.Leaf.Loops()), 1))
	}
	pl.ReductionOf[r] = n
	switch {
	case around == nil:
	case around.Workgroup.Of(r) != nil:
		n.Form = InStages
		return
	case around.Split != nil:
		n.Form, n.Series = AcrossLanes, sumLoopsOf(r)
		return
	}
	pl.region(r, around)
	if n.Form == Sequential && pl.keepsVectorAccumulators(r) {
		n.Form = AroundVectors
	}
	for _, in := range r.Loops() {
		if s := pl.ReductionOf[in]; s != nil {
			n.weight += s.weight * max(in.Trip(), 1)
		}
	}
}

// keepsVectorAccumulators reports whether a loop contains only a reduction whose accumulators may stay vectors across its iterations.
func (pl *planner) keepsVectorAccumulators(r *analysis.Region) bool {
	in := r.Loops()
	if len(in) != 1 || r.Trip() < 0 || !r.Simple() {
		return false
	}
	for _, p := range r.Parts {
		if p.U != nil && (p.U.Op == uop.Store || p.U.Op == uop.Load && analysis.IsRegister(p.U)) {
			return false
		}
	}
	n := pl.ReductionOf[in[0]]
	return n != nil && (n.Form == AroundVectors || n.Form == Along && (pl.Masks || in[0].Trip() >= n.Lanes))
}

// chains is the number of independent accumulators that hide the latency of an addition.
const chains = 8

// boolChains is chains for Bools: their operations take a cycle, and there are few mask registers.
const boolChains = 4

// invocationChains is chains for invocations: other invocations hide the latency, but a few accumulators make long sums more accurate.
const invocationChains = 4

// loadChains is chains where loads miss the caches: the number of loads in flight in an invocation.
const loadChains = 8

const (
	// alongWeight and unrolledWeight bound the operations of an iteration with all of its partial sums, longWeight where loops
	// are slow.
	alongWeight    = 256
	unrolledWeight = 512
	longWeight     = 1024
)

// Ways is the number of accumulators of each register, for a number of unrolled copies of the loop and n iterations (-1 if
// unknown).
func (r *Reduction) Ways(copies, n int64) int64 {
	ways, sums := int64(1), copies*r.updates
	switch {
	case r.Form == AlongUnknown:
		for ways = max(r.chains/sums, 1); ways > 1 && ways*r.weight > alongWeight; ways /= 2 {
		}
		return ways
	case r.Form == Along:
		for ways = max(r.chains/sums, 1); ways > 1 && (ways*r.Lanes > n || copies*ways*r.weight > alongWeight); ways /= 2 {
		}
	default:
		for ways*sums < r.chains && (n < 0 || 2*ways <= n) && 2*ways*sums*r.weight <= unrolledWeight {
			ways *= 2
		}
		if n < 0 {
			return analysis.GCD(ways, r.Multiple)
		}
	}
	if r.wanted > 0 {
		ways = r.wanted
	}
	return max(min(ways, n/r.Lanes), 1)
}

// Rounds is the number of steps of each accumulator in an iteration of the loop, for a number of unrolled copies and n steps of
// each (-1 if unknown): as many as leave the fewest iterations, those of the remainder included.
func (r *Reduction) Rounds(copies, ways, n int64) int64 {
	best := int64(1)
	if !r.long {
		return best
	}
	room := longWeight / min(r.siblings, 4)
	for k := room / max(copies*ways*r.weight, 1); k > 1; k-- {
		switch {
		case n < 0 && r.Multiple%(ways*r.Lanes*k) == 0:
			return k
		case n >= k && n/k+n%k < n/best+n%best:
			best = k
		}
	}
	return best
}

// recordWays records the number of accumulators of a whole tile.
func (p *Band) recordWays(pl *planner) {
	if p.Product != nil || p.MultiPass != nil && p.MultiPass.SplitK == nil {
		return
	}
	var last func(r *analysis.Region) *Reduction
	last = func(r *analysis.Region) (found *Reduction) {
		for _, in := range r.Loops() {
			if n := pl.ReductionOf[in]; n != nil && (n.Form == Sequential || n.Form == AroundVectors) {
				found = last(in)
			} else if n != nil {
				found = n
			}
		}
		return found
	}
	if n := last(p.Leaf); n != nil && (n.Form == Along || n.Form == Unrolled && n.Loop.Trip() >= 0) {
		p.used.used[knobPartialSums] = n.Ways(p.copies(), p.trip(n.Loop))
	}
}

// FullyUnrolled reports whether a loop that contains others is fully unrolled.
func (r *Reduction) FullyUnrolled(copies int64) bool {
	n := r.Loop.Trip()
	return n > 0 && r.Rounds(copies, 1, n) == n
}

// copies is the number of copies of the leaf in a whole tile, 1 for a nil band.
func (p *Band) copies() int64 {
	n := int64(1)
	if p == nil {
		return n
	}
	for _, a := range p.Axes {
		if !a.Plain() {
			n *= min(a.Units, max((a.Count+a.Unit-1)/a.Unit, 1))
		}
	}
	return n
}

// trip is the trip count of a loop of the leaf; with split-K that of a part.
func (p *Band) trip(r *analysis.Region) int64 {
	if q := p.MultiPass; q != nil && q.SplitK != nil && q.Loop == r {
		return q.SplitK.Count
	}
	return r.Trip()
}

// stores are the stores of the leaf to memory.
func (p *Band) stores() []*uop.UOp {
	var out []*uop.UOp
	for _, x := range p.Leaf.Parts {
		if x.U != nil && x.U.Op == uop.Store && x.U.Src[0].DType.Space != uop.Reg {
			out = append(out, x.U)
		}
	}
	return out
}

// planTransposedStores finds the stores of a tile whose rows are contiguous in memory while the lanes of its vectors are
// not: the tile is transposed in registers.
func (p *Band) planTransposedStores(pl *planner) {
	if p.Rows == nil || p.Vec.Dynamic {
		return
	}
	for _, u := range p.stores() {
		b, index, gate, ok := pl.AddressOf(u.Src[0])
		if !ok || b == nil {
			continue
		}
		across, down := pl.Slopes(p.Vec.Region.Rng).Of(index), pl.Slopes(p.Rows.Region.Rng).Of(index)
		if gate == nil && b.Kind.Size() >= 4 && !across.Irregular && down.Contiguous() && across.Step != 1 && !b.Read {
			p.transposed = append(p.transposed, u)
		}
	}
}

// Transposes reports whether a store of a tile with so many rows is transposed.
func (p *Band) Transposes(u *uop.UOp, rows, lanes int64) bool {
	return rows >= 2 && rows <= lanes && (rows == lanes || p.Masks) && slices.Contains(p.transposed, u)
}

// planStreams finds the non-temporal stores.
func (p *Band) planStreams(pl *planner) {
	for _, u := range p.stores() {
		if whole := p.aroundCaches(pl, u); whole > 0 {
			if p.Streams == nil {
				p.Streams = map[*uop.UOp]int64{}
			}
			p.Streams[u] = whole
		}
	}
}

// aroundCaches is the number of elements that a store writes at once to a buffer larger than the caches, around them, 0 if it writes to the caches. A
// cache line has to be written at once: a partly written one is flushed when stores to other rows come in between.
func (p *Band) aroundCaches(pl *planner, u *uop.UOp) int64 {
	if pl.m.Stream == 0 {
		return 0
	}
	b, index, gate, ok := pl.AddressOf(u.Src[0])
	if !ok || b == nil || gate != nil || b.Param < 0 || b.Read || b.Kind.Size() < 4 || b.Size*b.Kind.Size() < p.streamFrom(pl) {
		return 0
	}
	line := Line / b.Kind.Size()
	if a := p.rowAxis(); a != nil && (p.rowElements()%line != 0 || pl.Slopes(a.Region.Rng).Of(index).Step%line != 0) {
		return 0
	}
	switch {
	case p.Interleaved[u] != nil && !p.fillsLines(pl, u):
		return 0
	case p.Interleaved[u] != nil || p.rowAxis() != nil:
		return line
	}
	return int64(pl.Lanes)
}

// rowAxis returns the axis of the rows of a tile, nil if it has one row.
func (p *Band) rowAxis() *Axis {
	if p.Transpose != nil {
		return p.Transpose
	}
	return p.Rows
}

// rowElements is the number of elements of a row of a tile.
func (p *Band) rowElements() int64 {
	for _, a := range p.Axes {
		if a.Vector {
			return a.Tile()
		}
	}
	return 1
}

// streamFrom is the size in bytes from which on a buffer gets non-temporal stores.
func (p *Band) streamFrom(pl *planner) int64 {
	switch {
	case p.Transpose != nil: // a normal store would first read each of the scattered lines, and prefetches read them, too
		return min(pl.m.Stream, 2*pl.m.L2)
	case p.scatters(pl): // likewise: the last pass of a Fourier transform gains from 6 of 16 MiB on
		return pl.m.Stream / 8 * 3
	case pl.collects: // reductions dominate the time
		return 2 * pl.m.Stream
	case pl.bytesRead() < pl.m.Stream/8: // the written buffer has the caches almost to itself
		return pl.m.Stream / 2 * 3
	case pl.PrefetchesBy(NextRow, p.Leaf) != nil:
		return pl.nextRowFrom()
	}
	return pl.m.Stream
}

// bytesRead is the size of the buffers that the kernel reads.
func (pl *planner) bytesRead() (n int64) {
	for _, b := range pl.Buffers {
		if b.Read && b.Param >= 0 {
			n += b.Size * b.Kind.Size()
		}
	}
	return n
}
