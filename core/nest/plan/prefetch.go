package plan

import (
	"slices"

	"polygrad/core/nest/analysis"
	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// PrefetchRule is the reason why a load or a store is prefetched.
type PrefetchRule uint8

const (
	NextRow  PrefetchRule = iota // the row of the next iteration of the level around a tile
	Window                       // what the next iterations of a walked axis add to a window
	Epilogue                     // operands of a tile's epilogue, prefetched before its sums
	NextTile                     // operands of the next tile's sums, prefetched in the same iteration of this tile's
	Stream                       // a stream of a vectorized reduction
	// From here on what is prefetched is stored.
	Squares // the rows of the next tile of transposed squares
	Counted // the next cache line of a bucket, to which elements are stored at a counter
)

// prefetchRules decide which accesses are prefetched, and set Ahead and Bytes of each. The hardware follows only a few streams of neighbouring lines,
// and detects each late. from is the least size in bytes of the buffers that a rule applies to, 0 if it applies to none.
var prefetchRules = [...]struct {
	name string
	from func(*planner) int64
	rule func(*prefetchSite, *candidate) bool
}{
	NextRow:  {"next rows", (*planner).nextRowFrom, (*prefetchSite).nextRow},
	Window:   {"windows", (*planner).memoryFrom, (*prefetchSite).window},
	Epilogue: {"operands of the epilogue", func(pl *planner) int64 { return pl.m.L2 }, (*prefetchSite).epilogue},
	NextTile: {"rows of the next tile", func(pl *planner) int64 { return pl.m.L2 + 1 }, (*prefetchSite).nextTile},
	Stream:   {"streams", (*planner).memoryFrom, (*prefetchSite).stream},
	Squares:  {"rows of squares", (*planner).squaresFrom, (*prefetchSite).squares},
	Counted:  {"buckets", (*planner).bucketsFrom, (*prefetchSite).counted},
}

// Prefetch is a load or a store and what is prefetched for it: Bytes bytes from Ahead bytes behind its address, or, if Bytes is 0, what all
// copies of an iteration load there.
type Prefetch struct {
	Access       *uop.UOp
	Rule         PrefetchRule
	Ahead, Bytes int64
}

// PrefetchesBy are the prefetches of a region by a rule.
func (k *Kernel) PrefetchesBy(rule PrefetchRule, r *analysis.Region) (found []Prefetch) {
	for _, q := range k.Prefetches[r] {
		if q.Rule == rule {
			found = append(found, q)
		}
	}
	return found
}

// candidate is a load from an argument of the kernel, or a store to one.
type candidate struct {
	Prefetch
	buf   *ir.Buffer
	index *uop.UOp
	gated bool
	times float64 // in an iteration of the region
	size  int64   // in bytes, of an element
}

// prefetchSite is a leaf of a band, or a reduction loop, that prefetches for the loads in it.
type prefetchSite struct {
	*planner
	p, around *Band              // the band and the enclosing one, nil for none
	loops     []*analysis.Region // the reduction loops around the loads, from the outermost on
	region    *analysis.Region
}

// planPrefetches plans the prefetches of a region and of the reduction loops in it. An access is prefetched by one rule, in the innermost loop.
func (s prefetchSite) planPrefetches() {
	for _, in := range s.region.Loops() {
		if !in.Writes {
			prefetchSite{s.planner, s.p, s.around, append(s.loops, in), in}.planPrefetches()
		}
	}
	for _, a := range s.region.Accesses(1, nil) {
		b, index, gate, ok := s.AddressOf(a.U.Src[0])
		if !ok || b == nil || b.Param < 0 || s.prefetched[a.U] {
			continue
		}
		for i, r := range prefetchRules {
			x := candidate{Prefetch{Access: a.U, Rule: PrefetchRule(i)}, b, index, gate != nil, a.Times, b.Kind.Size()}
			if from := r.from(s.planner); from > 0 && b.Size*x.size >= from && (a.U.Op == uop.Store) == (x.Rule >= Squares) && r.rule(&s, &x) {
				s.prefetched[a.U] = true
				s.Prefetches[s.region] = append(s.Prefetches[s.region], x.Prefetch)
				break
			}
		}
	}
}

// Rows of leastNextRow to mostNextRow bytes are prefetched one ahead: the hardware finds shorter and longer ones soon enough, or L1 does not
// hold them.
const leastNextRow, mostNextRow = 1 << 10, 32 << 10

// nextRowFrom is the least size in bytes of the buffers whose rows are prefetched. From that size on a single thread copies rows in reverse order in
// half of the time with non-temporal stores; two threads are faster in the caches.
func (pl *planner) nextRowFrom() int64 {
	if pl.m.Threads > 1 {
		return pl.m.Stream
	}
	return pl.m.Stream / 8 * 7
}

// nextRow: the hardware has to detect a new stream at each row if rows do not follow each other in memory, such as those of a flip or of an index.
func (s *prefetchSite) nextRow(x *candidate) bool {
	const page = 4 << 10
	if s.p == nil || s.collects || len(s.region.Loops()) > 0 || s.p.Joined != nil || !walksTiles(s.p.Levels) {
		return false
	}
	n := len(s.p.Levels)
	vec := s.p.Levels[n-1].Axis
	row, next := vec.Count*x.size, s.slope(x, s.p.Levels[n-2].Axis.Region)
	return vec.Vector && vec.Inner == nil && s.slope(x, vec.Region).Contiguous() && row >= leastNextRow && row <= mostNextRow &&
		(next.Irregular || next.Step < 0 || next.Step*x.size >= row+page)
}

// walksTiles reports whether the innermost levels are a walked axis around tiles.
func walksTiles(levels []level) bool {
	n := len(levels)
	return n >= 2 && levels[n-2].Kind == Walk && levels[n-1].Kind == Tiles
}

// largestWindow is the greatest number of elements of a window: the sums of longer loops are streams of their own.
const largestWindow = 64

// window: a pool loads the vectors of a window from several rows, in an order that the hardware detects late. Windows that are one contiguous stream
// together need no prefetch. The walked axis is the level around the vectors, in this band or in the enclosing one.
func (s *prefetchSite) window(x *candidate) bool {
	if s.p == nil || len(s.loops) > 0 || s.p.Joined != nil || s.p.MultiPass != nil || s.p.Product != nil || len(s.p.Packs) > 0 || x.times < 2 || x.times > largestWindow {
		return false
	}
	levels := s.p.Levels
	if s.around != nil {
		levels = slices.Concat(s.around.Levels, levels)
	}
	if !walksTiles(levels) || slices.ContainsFunc(s.Prefetches[s.region], func(q Prefetch) bool {
		return analysis.Definition(q.Access.Src[0]) == analysis.Definition(x.Access.Src[0])
	}) {
		return false
	}
	walked, tiled := levels[len(levels)-2].Axis, levels[len(levels)-1].Axis
	at := s.slope(x, walked.Region)
	x.Ahead, x.Bytes = aheadBytes, at.Step*x.size
	return !at.Irregular && at.Step > 0 && x.Bytes <= mostNextRow/8 && !(at.Step == int64(x.times)*tiled.Count && s.slope(x, tiled.Region).Step == 1)
}

// prefetchFrom is the least number of steps of a tile's sums for which prefetching pays: fewer do not cover the latency.
const prefetchFrom = 64

// epilogue: a tile reads a few elements of many rows of matrices beyond L2.
func (s *prefetchSite) epilogue(x *candidate) bool {
	if s.p == nil || s.p.Rows == nil || s.p.Vec.Dynamic || s.p.MultiPass != nil {
		return false
	}
	steps := int64(0)
	for _, sum := range s.p.Sums {
		steps += sum.Steps
	}
	return steps >= prefetchFrom && len(s.loops) == 0 && x.times == 1 && !x.gated && s.slope(x, s.p.Vec.Region).Contiguous()
}

// nextTile: the sums of a tile read a few bytes of each of many rows, more streams than the hardware follows, and the next tile reads the bytes
// behind them.
func (s *prefetchSite) nextTile(x *candidate) bool {
	const mostStep = 4
	sum := s.ReductionOf[s.region]
	if s.p == nil || sum == nil || sum.Form != Sequential && sum.Form != Unrolled || s.m.Stream == 0 || s.p.Rows == nil || s.p.Product != nil {
		return false
	}
	far := func(r *analysis.Region) bool { return s.distance(x, r) >= longStride } // the hardware follows nearer rows
	last, next := s.p.Levels[len(s.p.Levels)-1], s.slope(x, s.p.Vec.Region)
	x.Bytes = s.p.Vec.Tile() * next.Step * x.size
	x.Ahead = 2 * x.Bytes
	return last.Kind == Tiles && last.Axis == s.p.Vec && !next.Irregular && next.Step >= 1 && next.Step <= mostStep && s.distance(x, s.region) >= Line &&
		slices.ContainsFunc(s.loops, far) && s.staysInL2(x, x.Ahead+Line) && !slices.ContainsFunc(s.p.Packs, func(q *Pack) bool { return q.U == x.Access })
}

// staysInL2 reports whether half of L2 holds some bytes of each of the rows that the loops go through. Rows whose distance is a multiple of a
// large power of two share a few of its sets.
func (s *prefetchSite) staysInL2(x *candidate, bytes int64) bool {
	all, way := bytes, s.m.L2/leastWays
	for _, r := range s.loops {
		apart := s.distance(x, r)
		if apart < Line {
			continue
		}
		if r.Trip() < 0 || 2*r.Trip() > leastWays*way/max(analysis.GCD(apart, way), bytes) {
			return false
		}
		all *= r.Trip()
	}
	return all <= s.m.L2/2
}

// aheadBytes is the prefetch distance of a stream: it covers the latency of memory, and what is prefetched fits L1.
const aheadBytes = 16 << 10

// stream: the hardware prefetches streams from memory too late for a loop that does little else. With prefetches a stream of 32 MiB takes 0.65 of the
// time, one of 16 MiB, half of which is in the caches, 0.7 to 1; streams of up to 8 MiB take longer.
func (s *prefetchSite) stream(x *candidate) bool {
	sum := s.ReductionOf[s.region]
	x.Ahead = aheadBytes
	return sum != nil && (sum.Form == Along || sum.Form == AlongUnknown) && (s.p == nil || !s.p.rowStreams) && s.streams(s.region, x.Access)
}

// squares: a tile of squares stores a line or two of each of many rows, in which the next tile goes on. As for buckets, each miss delays the stores
// behind it: a matrix of 2001 x 2047 float64 is transposed in 3 to 5 ms instead of 12 to 19. The first line of the next tile is half written already
// where rows are not aligned, so that lines are asked for by their last element. The hardware follows nearer rows.
func (s *prefetchSite) squares(x *candidate) bool {
	if s.p == nil || s.p.Transpose == nil || x.gated || s.p.aroundCaches(s.planner, x.Access) > 0 {
		return false
	}
	rows := s.p.Transpose
	apart, bytes := s.distance(x, rows.Region), s.p.rowElements()*x.size
	x.Ahead = bytes + Line - x.size
	return apart >= longStride && cacheFootprint(apart, rows.Group*rows.Units, bytes+Line) <= s.m.L2/2
}

// squaresFrom is the least size in bytes of the buffers whose squares are prefetched: with what they are read from, they nearly fill L2.
func (pl *planner) squaresFrom() int64 { return pl.bucketsFrom() / 4 * 3 }

// bucketsFrom is the least size in bytes of the buffers whose buckets are prefetched.
func (pl *planner) bucketsFrom() int64 {
	if pl.m.Stream == 0 {
		return 0
	}
	return pl.m.L2 / 2
}

// counted: elements are appended to buckets, as in a pass of a radix sort. Stores retire in order, so that a miss at a new cache line of one bucket
// delays the stores to all others, and the hardware does not follow so many streams.
func (s *prefetchSite) counted(x *candidate) bool {
	x.Ahead, x.Bytes = Line, Line
	return slices.ContainsFunc(analysis.LoadsIn(x.index), func(u *uop.UOp) bool {
		counter := s.Buffers[analysis.Definition(u.Src[0])]
		return counter != nil && counter != x.buf && s.WritesTo(s.region, counter)
	})
}

// memoryFrom is the size in bytes from which on the caches do not hold a buffer.
func (pl *planner) memoryFrom() int64 { return pl.m.Stream / 4 * 3 }

// streams reports whether a loop loads adjacent elements of a buffer that the caches do not hold.
func (pl *planner) streams(r *analysis.Region, u *uop.UOp) bool {
	b, index, gate, ok := pl.AddressOf(u.Src[0])
	return ok && b != nil && gate == nil && u.Op == uop.Load && b.Param >= 0 && pl.m.Stream > 0 && b.Size*b.Kind.Size() >= pl.memoryFrom() &&
		pl.Slopes(r.Rng).Of(index).Contiguous()
}

// slope is how an iteration of a loop moves a load.
func (s *prefetchSite) slope(x *candidate, r *analysis.Region) analysis.Slope {
	return s.Slopes(r.Rng).Of(x.index)
}

// distance is how many bytes an iteration of a loop moves a load, 0 if that is not known.
func (s *prefetchSite) distance(x *candidate, r *analysis.Region) int64 {
	if at := s.slope(x, r); !at.Irregular {
		return max(at.Step, -at.Step) * x.size
	}
	return 0
}
