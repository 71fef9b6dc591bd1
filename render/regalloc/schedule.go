package regalloc

import (
	"sort"
)

// relievePressure reorders independent instructions where more values are live than there are registers, if another order needs
// fewer, and reports whether it did. Other code keeps its order: the processor reorders by itself.
func (a *Allocator[I]) relievePressure() bool {
	p := a.pressures()
	insts := a.c.Insts
	done, fenced := false, false
	for i := 0; i < len(insts); i++ {
		through := &a.liveThrough[a.loopOf[i]]
		if !a.tooMany(&p[i], through) {
			continue
		}
		if !fenced {
			a.barriers()
			fenced = true
		}
		if a.fence[i] {
			continue
		}
		from, to := i, i+1
		for from > 0 && !a.fence[from-1] {
			from--
		}
		for to < len(insts) && !a.fence[to] {
			to++
		}
		var over [classes]bool
		for k := range over {
			for j := from; j < to; j++ {
				over[k] = over[k] || int(p[j][k]-through[k]) > len(a.c.Classes[k].Regs)
			}
		}
		done = a.schedule(from, to, over) || done
		i = to
	}
	return done
}

// tooMany reports whether there are more values of a class than registers, apart from those that the loop does not use.
func (a *Allocator[I]) tooMany(p, through *[classes]int16) bool {
	for k, n := range p {
		if int(n-through[k]) > len(a.c.Classes[k].Regs) {
			return true
		}
	}
	return false
}

// pressures are the numbers of live values of each class before each instruction, and of those that are live through a loop
// without a use in it.
func (a *Allocator[I]) pressures() [][classes]int16 {
	p := grow(a.pressure, len(a.c.Insts)+1)
	a.pressure = p
	clear(p)
	a.liveThrough = grow(a.liveThrough, len(a.loops))
	clear(a.liveThrough)
	for v := range a.intervals {
		x := &a.intervals[v]
		if x.remat != none && a.c.Interleaved {
			continue // instructions read it from memory as well
		}
		for k := x.acc; k < x.end; k++ {
			if to := a.liveUntil(x, k); to > a.accs[k].pos {
				p[a.accs[k].pos+1][x.class]++
				if int(to)+1 < len(p) {
					p[to+1][x.class]--
				}
				for l := a.loopsFrom(a.accs[k].pos); l < len(a.loops) && a.loops[l].start < to; l++ {
					if a.loops[l].end < to {
						a.liveThrough[l][x.class]++
					}
				}
			}
		}
	}
	for i := 1; i < len(p); i++ {
		for k := range p[i] {
			p[i][k] += p[i-1][k]
		}
	}
	return p
}

// loopsFrom is the first loop that begins behind instruction i.
func (a *Allocator[I]) loopsFrom(i int32) int {
	return sort.Search(len(a.loops), func(l int) bool { return a.loops[l].start > i })
}

// liveUntil is the end of the live range of x after its access k, at most up to the next access.
func (a *Allocator[I]) liveUntil(x *interval, k int32) int32 {
	for l := a.loopOf[a.accs[k].pos]; ; l = a.loops[l].parent {
		if k+1 < x.end && a.accs[k+1].pos < a.loops[l].end {
			if a.accs[k+1].reads {
				return a.accs[k+1].pos
			}
			break
		}
		if l == 0 {
			break
		}
		if f := a.firstIn(x, l); a.accs[f].reads {
			// It is live to the end of the loop at least, and beyond it if it is used there.
			to := a.loops[l].end
			for q := a.loops[l].parent; ; q = a.loops[q].parent {
				if k+1 < x.end && a.accs[k+1].pos < a.loops[q].end {
					if a.accs[k+1].reads {
						to = a.accs[k+1].pos
					}
					return to
				}
				if q == 0 {
					return to
				}
				if f := a.firstIn(x, q); a.accs[f].reads {
					to = a.loops[q].end
				}
			}
		}
	}
	return a.accs[k].pos
}

// barriers finds the instructions that keep their position, and the region of all others: barriers are branches and labels,
// instructions with physical registers, and everything from one that sets the flags to the one that reads them.
func (a *Allocator[I]) barriers() {
	insts := a.c.Insts
	a.fence = grow(a.fence, len(insts))
	wanted := false // the flags are read before they are set again
	for i := len(insts) - 1; i >= 0; i-- {
		e := a.effects[i]
		fixed := e&(LoopBegin|LoopEnd|Label|Branch|ReadsFlags|Pinned) != 0 || wanted
		a.ops = a.m.Operands(&insts[i], a.ops[:0])
		for k := range a.ops {
			fixed = fixed || !a.ops[k].Reg.Virtual()
		}
		a.fence[i] = fixed
		if e&(Label|SetsFlags) != 0 {
			wanted = false
		}
		wanted = wanted || e&ReadsFlags != 0
	}
}

// scheduler is the state of schedule, reused. It numbers the values locally, from 0.
type scheduler[I comparable] struct {
	local  []int32 // the number of a value, or none
	class  []uint8 // of numbers
	known  []int32 // the value of a number
	ops    []localUse
	first  []int32 // the first operand of each instruction
	edges  []edge
	head   []int32 // the last edge that ends at an instruction, or none
	wait   []int32 // numbers of unscheduled instructions that must come later
	write  []int32 // the last instruction that wrote a number, or none
	reads  []int32 // the last of readers since then that reads a number, or none
	reader []edge
	live   []bool
	out    []bool
	ready  []int32
	seq    []int32
	old    []I
}

// localUse is a register that an instruction reads or writes, once for each instruction.
type localUse struct {
	n             int32
	reads, writes bool
}

// edge is an instruction in a list: the list goes on with number next.
type edge struct{ inst, next int32 }

// schedule orders instructions from number from to before number to, bottom up: of the instructions without unscheduled
// successors, the next is the one with the fewest live values before it, of equals the last. It reports whether the new order
// is better.
func (a *Allocator[I]) schedule(from, to int, over [classes]bool) bool {
	n := to - from
	const most = 800
	if n < 3 || n > most {
		return false
	}
	o := &a.scheduler
	insts := a.c.Insts[from:to]
	a.localize(from, int32(to))
	o.depend(insts, a.effects[from:to])
	o.live = append(o.live[:0], o.out...)
	o.ready, o.seq = o.ready[:0], grow(o.seq, n)
	for t := n - 1; t >= 0; t-- {
		if o.wait[t] == 0 {
			o.ready = append(o.ready, int32(t))
		}
	}
	for left := n - 1; left >= 0; left-- {
		best, least := 0, 1<<30
		for k, t := range o.ready {
			if d := o.change(t, &over); d < least || d == least && t > o.ready[best] {
				best, least = k, d
			}
		}
		t := o.ready[best]
		o.ready[best] = o.ready[len(o.ready)-1]
		o.ready = o.ready[:len(o.ready)-1]
		o.seq[left] = t
		for _, p := range o.ops[o.first[t]:o.first[t+1]] {
			o.live[p.n] = p.reads
		}
		for e := o.head[t]; e != none; e = o.edges[e].next {
			b := o.edges[e].inst
			if o.wait[b]--; o.wait[b] == 0 {
				o.ready = append(o.ready, b)
			}
		}
	}
	behind := a.pressure[to]
	for k, n := range a.liveThrough[a.loopOf[from]] {
		behind[k] -= n
	}
	better := o.excess(func(k int) int32 { return o.seq[k] }, n, behind, a) < o.excess(func(k int) int32 { return int32(k) }, n, behind, a)
	if better {
		o.old = append(o.old[:0], insts...)
		for k, t := range o.seq {
			insts[k] = o.old[t]
		}
	}
	for _, v := range o.known {
		o.local[v] = none
	}
	return better
}

// localize numbers the values of the instructions, lists their operands, and records the values live behind them.
func (a *Allocator[I]) localize(from int, to int32) {
	o := &a.scheduler
	if len(o.local) < len(a.intervals) {
		o.local = grow(o.local, len(a.intervals))
		for v := range o.local {
			o.local[v] = none
		}
	}
	o.class, o.known, o.ops, o.first, o.out = o.class[:0], o.known[:0], o.ops[:0], o.first[:0], o.out[:0]
	for t := range int(to) - from {
		o.first = append(o.first, int32(len(o.ops)))
		for _, u := range a.uses[a.first[from+t]:a.first[from+t+1]] {
			if o.local[u.interval] == none {
				x := &a.intervals[u.interval]
				o.local[u.interval] = int32(len(o.known))
				o.known = append(o.known, u.interval)
				o.class = append(o.class, x.class)
				o.out = append(o.out, a.liveAt(x, to))
			}
			o.ops = append(o.ops, localUse{o.local[u.interval], u.reads, u.write})
		}
	}
	o.first = append(o.first, int32(len(o.ops)))
}

// liveAt reports whether x is live before instruction i.
func (a *Allocator[I]) liveAt(x *interval, i int32) bool {
	k := x.acc + int32(sort.Search(int(x.end-x.acc), func(k int) bool { return a.accs[x.acc+int32(k)].pos >= i }))
	return k > x.acc && a.liveUntil(x, k-1) >= i
}

// depend finds the order constraints of instructions: between reads and writes of registers and, as one more number, of memory.
func (o *scheduler[I]) depend(insts []I, effects []Effects) {
	numbers := len(o.known) + 1
	o.edges, o.reader = o.edges[:0], o.reader[:0]
	o.head, o.wait = grow(o.head, len(insts)), grow(o.wait, len(insts))
	o.write, o.reads = grow(o.write, numbers), grow(o.reads, numbers)
	clear(o.wait)
	for _, s := range [][]int32{o.head, o.write, o.reads} {
		for k := range s {
			s[k] = none
		}
	}
	after := func(t, before int32) {
		if before != none && before != t {
			o.edges = append(o.edges, edge{before, o.head[t]})
			o.head[t] = int32(len(o.edges) - 1)
			o.wait[before]++
		}
	}
	note := func(n, t int32, reads, writes bool) {
		after(t, o.write[n])
		if writes {
			for e := o.reads[n]; e != none; e = o.reader[e].next {
				after(t, o.reader[e].inst)
			}
			o.write[n], o.reads[n] = t, none
		}
		if reads {
			o.reader = append(o.reader, edge{t, o.reads[n]})
			o.reads[n] = int32(len(o.reader) - 1)
		}
	}
	for t := range insts {
		for _, p := range o.ops[o.first[t]:o.first[t+1]] {
			note(p.n, int32(t), p.reads, p.writes)
		}
		if e := effects[t]; e&(Loads|Stores) != 0 {
			note(int32(numbers-1), int32(t), e&Stores == 0, e&Stores != 0)
		}
	}
}

// change is the change in the number of live values from behind instruction t to before it; classes above their limit count first.
func (o *scheduler[I]) change(t int32, over *[classes]bool) int {
	d := 0
	for _, p := range o.ops[o.first[t]:o.first[t+1]] {
		w := 1
		if over[o.class[p.n]] {
			w = 1000
		}
		switch {
		case p.reads && !o.live[p.n]:
			d += w
		case !p.reads && o.live[p.n]:
			d -= w
		}
	}
	return d
}

// excess is the maximal number of live values above the limits in a sequence of instructions; count are the values live behind it.
func (o *scheduler[I]) excess(at func(int) int32, n int, count [classes]int16, a *Allocator[I]) int {
	o.live = append(o.live[:0], o.out...)
	worst := 0
	for k := n - 1; k >= 0; k-- {
		t := at(k)
		for _, p := range o.ops[o.first[t]:o.first[t+1]] {
			if o.live[p.n] != p.reads {
				o.live[p.n] = p.reads
				if p.reads {
					count[o.class[p.n]]++
				} else {
					count[o.class[p.n]]--
				}
			}
		}
		sum := 0
		for c := range count {
			sum += max(0, int(count[c])-len(a.c.Classes[c].Regs))
		}
		worst = max(worst, sum)
	}
	return worst
}
