package fuse

import (
	"fmt"
	"slices"

	"polygrad/core/schedule"
	"polygrad/core/uop"
)

type invariant = schedule.Invariant[*fuser]

// What holds between passes.
var (
	// tensorGraph holds before there are kernels.
	tensorGraph = []invariant{{Name: "a SINK of values and ASSIGNs", Check: checkTensorGraph}}
	// runnable holds while kernels are merged.
	runnable = []invariant{{Name: "groups match their bodies", Check: checkGroups}, {Name: "no range runs in two bodies", Check: checkRanges},
		{Name: "loops have an order, nothing reads what other iterations write", Check: checkBodies}, {Name: "temporaries are written before they are read", Check: checkOrder},
		{Name: "kernels that share a buffer keep their order", Check: checkDependencies}, {Name: "what is asked for is written", Check: checkOutputs}}
	// emitted holds when all groups are kernels.
	emitted = []invariant{{Name: "kernels number their PARAMs and ranges from 0", Check: checkKernels}, {Name: "temporaries are written before they are read", Check: checkOrder},
		{Name: "what is asked for is written", Check: checkOutputs}}
	// placed holds for the schedule.
	placed = []invariant{{Name: "each temporary is used, and lies apart from those alive with it", Check: checkArena}}
)

func checkTensorGraph(f *fuser) error {
	if f.root.Op != uop.Sink || f.request != nil && len(f.root.Src) != len(f.request.Sink.Src) {
		return fmt.Errorf("the root is %s of %d sources", f.root, len(f.root.Src))
	}
	if u := f.root.Find(func(u *uop.UOp) bool {
		return u.Op == uop.Store || u.Op == uop.Range || u.Op == uop.Reduce || u.Op == uop.Prefix
	}); u != nil {
		return fmt.Errorf("%s is in the graph", u)
	}
	return nil
}

func checkGroups(f *fuser) error {
	for _, g := range f.groups {
		switch {
		case len(g.kernels) == 0 || !slices.IsSorted(g.kernels):
			return fmt.Errorf("a group of the kernels %v", g.kernels)
		case g.body == nil && g.kernel == nil:
			return fmt.Errorf("group %v has neither a body nor a kernel", g.kernels)
		case g.body == nil:
			continue
		}
		if is := groupOf(g.body, nil).access; !is.reads.equal(g.reads) || !is.writes.equal(g.writes) {
			return fmt.Errorf("group %v: it reads %v and writes %v, its body %v and %v", g.kernels, g.reads, g.writes, is.reads, is.writes)
		}
		for _, s := range g.body.stores {
			if s.at.Op != uop.Index || slotOf(s.at) != s.slot || s.slot >= len(f.slots) {
				return fmt.Errorf("group %v stores to slot %d of %d through %s", g.kernels, s.slot, len(f.slots), s.at)
			}
			if len(within(g.body.loops, s.loops)) < len(s.loops) {
				return fmt.Errorf("group %v: slot %d is stored in loops that the body does not have", g.kernels, s.slot)
			}
		}
	}
	return nil
}

func checkRanges(f *fuser) error {
	owner := map[*uop.UOp]*group{}
	for _, g := range f.groups {
		if g.body == nil {
			continue
		}
		for _, u := range g.body.root().Toposort() {
			if u.Op != uop.Range {
				continue
			}
			if o := owner[u]; o != nil && o != g {
				return fmt.Errorf("groups %v and %v have the range %s", o.kernels, g.kernels, u)
			}
			owner[u] = g
		}
	}
	return nil
}

func checkBodies(f *fuser) error {
	for _, g := range f.groups {
		if g.kernel != nil {
			continue // not merged
		}
		if _, ok := loopOrder(g.body); !ok {
			return fmt.Errorf("group %v has no order of its loops", g.kernels)
		}
		if !hazardFree(g.body) {
			return fmt.Errorf("group %v reads what other iterations write", g.kernels)
		}
	}
	return nil
}

func checkOrder(f *fuser) error {
	var written slotSet
	for _, g := range f.groups {
		for slot, s := range f.slots {
			if s.Input < 0 && g.body != nil && g.reads.has(slot) && !written.has(slot) {
				return fmt.Errorf("group %v reads slot %d, which nothing has written", g.kernels, slot)
			}
		}
		written.merge(g.writes)
	}
	return nil
}

// checkDependencies finds accesses in the scheduler's kernels themselves, independently of the access sets that fusion keeps for groups. A
// split kernel is in several groups: each piece depends only on the slots that its group uses.
func checkDependencies(f *fuser) error {
	places := map[int][]int{} // the groups that a kernel is in
	for at, g := range f.groups {
		for _, k := range g.kernels {
			places[k] = append(places[k], at)
		}
	}
	accesses := make([]access, len(f.s.Kernels))
	for i, k := range f.s.Kernels {
		accesses[i] = accessOf(k)
	}
	part := func(k, at int) access {
		if g := f.groups[at]; len(places[k]) > 1 && g.body != nil {
			return accesses[k].within(g.body.usedSlots())
		}
		return accesses[k]
	}
	for i := range accesses {
		for j := range i {
			if !accesses[i].dependsOn(&accesses[j]) {
				continue
			}
			for _, at := range places[i] {
				for _, before := range places[j] {
					if before <= at || slices.Contains(f.groups[at].kernels, j) && slices.Contains(f.groups[before].kernels, i) {
						continue // pieces of a merged loop whose iterations are independent
					}
					if a, b := part(j, before), part(i, at); b.dependsOn(&a) {
						return fmt.Errorf("group %v runs before %v, which kernel %d needs to run after", f.groups[at].kernels, f.groups[before].kernels, i)
					}
				}
			}
		}
	}
	return nil
}

// usedSlots are the slots of all INDEXes of a body.
func (b *body) usedSlots() (slots slotSet) {
	for _, u := range b.root().Toposort() {
		if u.Op == uop.Index && u.Src[0].Op == uop.Param {
			slots.add(slotOf(u))
		}
	}
	return slots
}

// within restricts accesses to some slots.
func (b *access) within(slots slotSet) access {
	return access{b.reads.and(slots), b.writes.and(slots)}
}

// accessOf is the set of slots that a kernel reads and writes.
func accessOf(k schedule.Kernel) (a access) {
	for _, u := range k.AST.Toposort() {
		for i, s := range u.Src {
			if s.Op != uop.Param && (s.Op != uop.Index || s.Src[0].Op != uop.Param) {
				continue
			}
			for s.Op == uop.Index {
				s = s.Src[0]
			}
			slot := k.Bufs[int(s.Arg.(uop.Num))]
			switch {
			case u.Op == uop.Store && i == 0:
				a.writes.add(slot)
			case u.Op == uop.Index && i == 0: // its users tell loads from stores
			case fusible.Has(u.Op) || u.Op == uop.Prefix:
				a.reads.add(slot)
			default:
				a.reads.add(slot)
				a.writes.add(slot)
			}
		}
	}
	return a
}

func checkOutputs(f *fuser) error {
	var written slotSet
	for _, g := range f.groups {
		written.merge(g.writes)
	}
	for i, o := range f.s.Outputs {
		if o.Slot >= 0 && !written.has(o.Slot) {
			return fmt.Errorf("output %d is in slot %d, which nothing writes", i, o.Slot)
		}
	}
	return nil
}

func checkKernels(f *fuser) error {
	for _, g := range f.groups {
		if g.kernel == nil {
			return fmt.Errorf("group %v is no kernel", g.kernels)
		}
		if g.kernel.AST.Op == uop.Copy {
			continue
		}
		params, numbers := map[int]bool{}, map[int]bool{}
		for _, u := range g.kernel.AST.Toposort() {
			switch u.Op {
			case uop.Param:
				params[int(u.Arg.(uop.Num))] = true
			case uop.Range:
				if n := u.RangeID().ID[0]; numbers[n] {
					return fmt.Errorf("group %v has two ranges %d", g.kernels, n)
				} else {
					numbers[n] = true
				}
			}
		}
		for i, slot := range g.kernel.Bufs {
			if !params[i] {
				return fmt.Errorf("group %v has %d buffers, PARAM %d is not in the kernel", g.kernels, len(g.kernel.Bufs), i)
			}
			if slices.Contains(g.kernel.Bufs[:i], slot) { // a GPU takes no buffer twice
				return fmt.Errorf("group %v has slot %d twice", g.kernels, slot)
			}
		}
		for i := range len(numbers) {
			if !numbers[i] {
				return fmt.Errorf("group %v has %d ranges, none with the number %d", g.kernels, len(numbers), i)
			}
		}
	}
	return nil
}

func checkArena(f *fuser) error {
	type life struct{ slot, first, last int }
	var lives []life
	for slot, s := range f.s.Slots {
		l := life{slot, -1, -1}
		for i, k := range f.s.Kernels {
			if slices.Contains(k.Bufs, slot) {
				if l.last = i; l.first < 0 {
					l.first = i
				}
			}
		}
		if s.Input >= 0 || s.Output >= 0 {
			continue
		}
		if l.first < 0 && f.changed {
			return fmt.Errorf("no kernel uses the temporary %d", slot)
		}
		end := s.Offset + s.Size*int64(s.DType.Itemsize())
		if end > f.s.ArenaBytes {
			return fmt.Errorf("temporary %d ends at %d, the arena at %d", slot, end, f.s.ArenaBytes)
		}
		for _, o := range lives {
			t := f.s.Slots[o.slot]
			if o.first <= l.last && l.first <= o.last && t.Offset < end && s.Offset < t.Offset+t.Size*int64(t.DType.Itemsize()) {
				return fmt.Errorf("temporaries %d and %d overlap while both are alive", o.slot, slot)
			}
		}
		lives = append(lives, l)
	}
	return nil
}
