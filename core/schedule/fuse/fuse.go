// Package fuse merges the kernels of a schedule: what is reduced over a row with what is done to the same row next, what
// is done to the elements of a matrix product with the product, and kernels that read the same data.
//
// tinygrad's rules make a kernel of each reduction whose result is used more than once; this package works on their
// result and is for devices that run the loops of a kernel as they stand, where
//
//	for row { max; sum of exp; store }
//
// reads the row from memory once.
package fuse

import (
	"slices"

	"polygrad/core/schedule"
	"polygrad/core/uop"
)

// Options bound what may be merged.
type Options struct {
	// RowBytes is how much memory one row may take that is gone through several times: part of a cache.
	RowBytes int64
	// BlockBytes is how much memory a block of rows may take that goes through several kernels in one, MinBlock the least
	// number of its rows: products of few rows are slow.
	BlockBytes, MinBlock int64
	// MinRows is how many rows there must be, for threads to share them; kernels of up to SmallWork elements need none.
	MinRows, SmallWork int64
	// MaxWork is by how much the arithmetic may grow because values are computed again instead of being stored.
	MaxWork float64
	// MaxBuffers is the most buffers that a merged kernel may have.
	MaxBuffers int
	// MinScratch is the length of the shortest row for which scratch memory pays: there a kernel keeps values of functions
	// that several of its loops need.
	MinScratch int64
}

// For returns options for a processor with a second-level cache of some size, and a number of threads.
func For(cacheBytes int64, threads int) Options {
	return Options{RowBytes: cacheBytes / 4, BlockBytes: cacheBytes / 2, MinBlock: 16, MinRows: 4 * int64(threads), SmallWork: 1 << 14, MaxWork: 1.6, MaxBuffers: 24, MinScratch: 16}
}

// fuser is the state of one run.
type fuser struct {
	s      *schedule.Schedule
	o      Options
	items  []*item
	ranges int
}

// item is a kernel.
type item struct {
	kernel        schedule.Kernel
	body          *body // nil for kernels that cannot be merged
	reads, writes slotSet
}

// slotSet is a set of slots, a bit for each.
type slotSet []uint64

func (s *slotSet) add(slot int) {
	for slot>>6 >= len(*s) {
		*s = append(*s, 0)
	}
	(*s)[slot>>6] |= 1 << (slot & 63)
}

func (s slotSet) has(slot int) bool { return slot>>6 < len(s) && s[slot>>6]>>(slot&63)&1 != 0 }

func (s *slotSet) merge(o slotSet) {
	for len(*s) < len(o) {
		*s = append(*s, 0)
	}
	for i, w := range o {
		(*s)[i] |= w
	}
}

func overlap(a, b slotSet) bool {
	for i := range min(len(a), len(b)) {
		if a[i]&b[i] != 0 {
			return true
		}
	}
	return false
}

// Apply merges kernels of a schedule.
func Apply(s *schedule.Schedule, o Options) {
	f := &fuser{s: s, o: o}
	for _, k := range s.Kernels {
		f.items = append(f.items, f.newItem(k))
	}
	// Products come last: what is done to their elements is one kernel by then, and joins them if it is light.
	f.producers(false)
	f.siblings()
	f.producers(true)
	merged := f.scatters()
	f.blocks()
	s.Kernels = s.Kernels[:0]
	for _, it := range f.items {
		if it.body != nil && it.body.merged {
			it.kernel = f.finish(it.body)
			merged = true
		}
		s.Kernels = append(s.Kernels, it.kernel)
	}
	if !merged {
		return
	}
	f.dropSlots()
	s.PlanMemory()
}

func (f *fuser) newItem(k schedule.Kernel) *item {
	b := f.open(k)
	if b == nil {
		return opaque(k)
	}
	it := &item{kernel: k, body: b}
	it.note()
	return it
}

// opaque is a kernel that stays as it is.
func opaque(k schedule.Kernel) *item {
	it := &item{kernel: k}
	for _, b := range k.Bufs {
		it.reads.add(b)
		it.writes.add(b)
	}
	return it
}

// note lists the slots that the body works on.
func (it *item) note() {
	for _, s := range it.body.stores {
		it.writes.add(s.slot)
	}
	for _, l := range it.body.loads() {
		it.reads.add(slotOf(l))
	}
}

// mustFollow reports whether b, which comes later, cannot come before a.
func mustFollow(b, a *item) bool { return b.uses().follow(a.uses()) }

func (it *item) uses() uses { return uses{it.reads, it.writes} }

func (b uses) follow(a uses) bool {
	return overlap(a.writes, b.reads) || overlap(a.reads, b.writes) || overlap(a.writes, b.writes)
}

// uses are the slots that some kernels read and write together.
type uses struct{ reads, writes slotSet }

func (u *uses) add(it *item) {
	u.reads.merge(it.reads)
	u.writes.merge(it.writes)
}

// between splits the kernels between i and j into those that can run before both and those that can run after both. ok is
// false if there are others.
func (f *fuser) between(i, j int) (before, after []*item, ok bool) {
	var behind uses
	behind.add(f.items[i])
	for _, x := range f.items[i+1 : j] {
		if x.uses().follow(behind) {
			behind.add(x)
			after = append(after, x)
		} else {
			before = append(before, x)
		}
	}
	ok = !slices.ContainsFunc(after, func(x *item) bool { return mustFollow(f.items[j], x) })
	return before, after, ok
}

// put replaces the kernels i and j by one with a body, and returns its place.
func (f *fuser) put(i, j int, before, after []*item, b *body) int {
	it := &item{body: b}
	it.note()
	f.items = slices.Concat(f.items[:i], before, []*item{it}, after, f.items[j+1:])
	return i + len(before)
}

// producers merges kernels, products of matrices or all others, with those that read what they write.
func (f *fuser) producers(products bool) {
	for j := 0; j < len(f.items); j++ {
		for i := j - 1; i >= 0; i-- {
			p, k := f.items[i], f.items[j]
			if !overlap(p.writes, k.reads) || p.body == nil || k.body == nil || k.body.contraction() || p.body.contraction() != products {
				continue
			}
			before, after, ok := f.between(i, j)
			if !ok {
				continue
			}
			if b := f.absorb(p.body, k.body, func(slot int) bool { return f.needed(slot, i, j) }); b != nil {
				j = f.put(i, j, before, after, b)
				i = j
			}
		}
	}
}

// needed reports whether something else than the kernels i and j wants to see a slot.
func (f *fuser) needed(slot, i, j int) bool {
	if s := f.s.Slots[slot]; s.Input >= 0 || s.Output >= 0 {
		return true
	}
	for n, it := range f.items {
		if n != i && n != j && it.reads.has(slot) {
			return true
		}
	}
	return false
}

// siblings merges kernels that read the same data.
func (f *fuser) siblings() {
	for j := 1; j < len(f.items); j++ {
		var needed uses // of the kernels after i that come before j whatever is done
		for i := j - 1; i >= 0; i-- {
			p, k := f.items[i], f.items[j]
			apart := needed.follow(p.uses())
			if apart || mustFollow(k, p) {
				needed.add(p)
			}
			if apart || !overlap(p.reads, k.reads) || overlap(p.writes, k.reads) || overlap(p.writes, k.writes) || !joinable(p.body, k.body) {
				continue
			}
			before, after, ok := f.between(i, j)
			if !ok {
				continue
			}
			if b := f.join(p.body, k.body); b != nil {
				j = f.put(i, j, before, after, b)
				i, needed = j, uses{}
			}
		}
	}
}

// finish is the kernel of a body.
func (f *fuser) finish(b *body) schedule.Kernel {
	k := f.close(f.keepFunctions(b))
	for _, u := range k.AST.Toposort() {
		if u.Op == uop.DefineVar {
			k.Vars = append(k.Vars, u)
		}
	}
	schedule.SortVars(k.Vars)
	return k
}

// dropSlots takes temporaries out of the schedule that no kernel uses any more.
func (f *fuser) dropSlots() {
	used := make([]bool, len(f.s.Slots))
	for _, k := range f.s.Kernels {
		for _, b := range k.Bufs {
			used[b] = true
		}
	}
	for _, o := range f.s.Outputs {
		if o.Slot >= 0 {
			used[o.Slot] = true
		}
	}
	to := make([]int, len(used))
	var slots []schedule.Slot
	for i, s := range f.s.Slots {
		to[i] = len(slots)
		if used[i] || s.Input >= 0 {
			slots = append(slots, s)
		}
	}
	f.s.Slots = slots
	for i := range f.s.Kernels {
		k := &f.s.Kernels[i]
		bufs := make([]int, len(k.Bufs))
		for j, b := range k.Bufs {
			bufs[j] = to[b]
		}
		k.Bufs = bufs
	}
	for i := range f.s.Outputs {
		if o := &f.s.Outputs[i]; o.Slot >= 0 {
			o.Slot = to[o.Slot]
		}
	}
}
