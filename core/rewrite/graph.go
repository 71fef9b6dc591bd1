package rewrite

import (
	"slices"
	"sync"

	"polygrad/core/uop"
)

// stackLimit bounds the work list: rules that never settle end in an error instead of eating all memory.
const stackLimit = 250_000

// Gate is what a parents-first rule returns to keep its node and not go below it.
var Gate = uop.NewGraph(nil).New(uop.Noop, uop.Void, nil, uop.Str("gate"), nil)

// Unordered is a context for which the order of visits makes no difference. A rewrite with one, or without a context, skips
// subgraphs without an operation that a rule looks at. Other contexts may hand out numbers while rules match: then even visits
// of such nodes matter, as other nodes wait for them.
type Unordered interface{ Unordered() }

// Graph rewrites the graph below root, children first: a node is given to the table
// once its sources are final. A replacement is rewritten in turn, until no rule applies.
func Graph(root *uop.UOp, t *Table, ctx any) *uop.UOp { return run(root, t, nil, ctx, t.index().ops) }

// GraphTopDown rewrites parents first: a node is rewritten until no rule applies, then
// its sources are visited. A rule may return Gate to leave everything below its node alone.
// tinygrad calls this order bottom_up.
func GraphTopDown(root *uop.UOp, t *Table, ctx any) *uop.UOp {
	return run(root, nil, t, ctx, t.index().ops)
}

// rewriters are kept for reuse: most rewrites are of a handful of nodes, many thousand times.
var rewriters = sync.Pool{New: func() any { return &rewriter{} }}

// run rewrites what has one of the operations ops at or below it.
func run(root *uop.UOp, up, down *Table, ctx any, ops uop.OpSet) *uop.UOp {
	if !root.HasOp(ops) {
		return root
	}
	if _, ok := ctx.(Unordered); !ok && ctx != nil {
		ops = uop.GroupAll
	}
	r := rewriters.Get().(*rewriter)
	r.up, r.down, r.ctx, r.ops = up, down, ctx, ops
	r.begin()
	v := r.run(root)
	visits.Add(int64(r.visits))
	r.release()
	return v
}

type stage uint8

const (
	enter  stage = iota // not looked at yet
	built               // sources are being rewritten
	linked              // a replacement is being rewritten
)

// work is a step to take for the node of slot at.
type work struct {
	at    int32
	link  int32 // linked: slot of the replacement
	stage stage
}

// waiter is a step that waits for a node, in a list.
type waiter struct {
	w    work
	next int32
}

// unchanged stands for the slot of a source that stays as it is.
const unchanged int32 = -1

type rewriter struct {
	up, down *Table
	ctx      any
	ops      uop.OpSet // nodes with none of them at or below them stay as they are
	slots
	stack   []work
	waiters []waiter
	sources []int32    // the slots of the sources of one node after the other
	src     []*uop.UOp // room for the new sources of a node
	chain   []*uop.UOp // room for fixpoint
	visits  int
}

// maxKept and maxRoom bound what a rewriter that is kept for reuse may hold.
const (
	maxKept = 1 << 14
	maxRoom = 1 << 8
)

// release keeps the rewriter for reuse, without the nodes that it knows.
func (r *rewriter) release() {
	if len(r.list) > maxKept || cap(r.stack) > maxKept || cap(r.src) > maxRoom {
		return
	}
	clear(r.list)
	clear(r.src[:cap(r.src)])
	clear(r.chain[:cap(r.chain)])
	r.list, r.stack, r.waiters, r.sources, r.visits = r.list[:0], r.stack[:0], r.waiters[:0], r.sources[:0], 0
	r.up, r.down, r.ctx = nil, nil, nil
	rewriters.Put(r)
}

func (r *rewriter) push(w work) { r.stack = append(r.stack, w) }

func (r *rewriter) done(at int32, v *uop.UOp) {
	s := &r.list[at]
	s.final = v
	for i := s.firstWaiter; i != 0; {
		w := &r.waiters[i-1]
		r.push(w.w)
		i = w.next
	}
	s.firstWaiter, s.lastWaiter = 0, 0
}

func (r *rewriter) wait(on int32, w work) {
	r.waiters = append(r.waiters, waiter{w: w})
	n, s := int32(len(r.waiters)), &r.list[on]
	if s.firstWaiter == 0 {
		s.firstWaiter = n
	} else {
		r.waiters[s.lastWaiter-1].next = n
	}
	s.lastWaiter = n
}

// run is the state machine. The order of visits is observable, since contexts hand out numbers
// while rules match, so it follows tinygrad's unified_rewrite step by step.
func (r *rewriter) run(root *uop.UOp) *uop.UOp {
	top := r.slot(root)
	r.list[top].placed = true
	r.push(work{at: top})
	for len(r.stack) > 0 {
		if len(r.stack) > stackLimit {
			panic("rewrite.Graph: rules do not settle (work list over the limit) at " + root.String())
		}
		w := r.stack[len(r.stack)-1]
		r.stack = r.stack[:len(r.stack)-1]
		if r.list[w.at].final != nil {
			continue
		}
		switch w.stage {
		case enter:
			r.enter(w.at)
		case built:
			r.rebuild(w.at)
		case linked:
			if v := r.list[w.link].final; v != nil {
				r.done(w.at, v)
			} else {
				r.wait(w.link, w)
			}
		}
	}
	if r.list[top].final == nil {
		panic("rewrite.Graph: rules go in a circle: a replacement waits for what it replaces, below " + root.String())
	}
	return r.list[top].final
}

func (r *rewriter) enter(at int32) {
	n := r.list[at].now
	if r.down != nil && !r.list[at].entered { // a node whose sources are waited for may be met again
		v, gated := r.fixpoint(n, at)
		if gated {
			r.done(at, v)
			return
		}
		r.list[at].now, r.list[at].entered, n = v, true, v
	}
	top := len(r.stack)
	r.push(work{at: at, stage: built})
	first := len(r.sources)
	r.list[at].sources = int32(first)
	r.sources = slices.Grow(r.sources, len(n.Src))[:first+len(n.Src)]
	for i := len(n.Src) - 1; i >= 0; i-- {
		if !n.Src[i].HasOp(r.ops) {
			r.sources[first+i] = unchanged
			continue
		}
		s := r.slot(n.Src[i])
		r.sources[first+i] = s
		if !r.list[s].placed {
			r.list[s].placed = true
			r.push(work{at: s})
		}
	}
	if len(r.stack) == top+1 { // it would be the next step
		r.stack = r.stack[:top]
		r.rebuild(at)
	}
}

// fixpoint applies the parents-first table to n, whose slot is at, until it no longer answers.
func (r *rewriter) fixpoint(n *uop.UOp, at int32) (v *uop.UOp, gated bool) {
	chain := r.chain[:0]
	for {
		next := r.list[at].down
		if !r.list[at].asked {
			r.visits++
			next = r.down.Rewrite(r.ctx, n)
			if next == Gate {
				return n, true
			}
			r.list[at].asked, r.list[at].down = true, next
		}
		if next == nil {
			return n, false
		}
		chain = append(chain, n)
		r.chain = chain
		if slices.Contains(chain, next) {
			panic("rewrite.GraphTopDown: rules go in a circle at " + next.String())
		}
		n, at = next, r.slot(next)
	}
}

func (r *rewriter) rebuild(at int32) {
	n := r.list[at].now
	sources := r.sources[r.list[at].sources:][:len(n.Src)]
	changed := false
	for i, c := range sources {
		if c == unchanged {
			continue
		}
		v := r.list[c].final
		if v == nil {
			r.wait(c, work{at: at, stage: built})
			return
		}
		changed = changed || v != n.Src[i]
	}
	var next *uop.UOp
	switch {
	case changed:
		r.src = r.src[:0]
		for i, c := range sources {
			v := n.Src[i]
			if c != unchanged {
				v = r.list[c].final
			}
			r.src = append(r.src, v)
		}
		next = n.Graph().NewCopy(n.Op, n.DType, r.src, n.Arg, n.Tag)
	case r.up != nil:
		r.visits++
		next = r.up.Rewrite(r.ctx, n)
	}
	if next == nil {
		r.done(at, n)
		return
	}
	link := r.slot(next)
	r.push(work{at, link, linked})
	r.push(work{at: link})
}
