package rewrite

import (
	"sync"

	"polygrad/core/uop"
)

// stackLimit bounds the work list: rules that never settle end in an error instead of eating all memory.
const stackLimit = 250_000

// Gate is what a parents-first rule returns to keep its node and not go below it.
var Gate = uop.NewScratch().New(uop.Noop, uop.Void, nil, uop.Str("gate"), nil)

// Graph rewrites the graph below root, children first: a node is given to the table
// once its sources are final. A replacement is rewritten in turn, until no rule applies.
func Graph(root *uop.UOp, t *Table, ctx any) *uop.UOp { return run(root, t, nil, ctx) }

// GraphTopDown rewrites parents first: a node is rewritten until no rule applies, then
// its sources are visited. A rule may return Gate to leave everything below its node alone.
// tinygrad calls this order bottom_up.
func GraphTopDown(root *uop.UOp, t *Table, ctx any) *uop.UOp { return run(root, nil, t, ctx) }

// GraphBoth rewrites with one table on the way down and another on the way up.
func GraphBoth(root *uop.UOp, down, up *Table, ctx any) *uop.UOp { return run(root, up, down, ctx) }

// rewriters are kept for reuse: most rewrites are of a handful of nodes, many thousand times.
var rewriters = sync.Pool{New: func() any { return &rewriter{} }}

func run(root *uop.UOp, up, down *Table, ctx any) *uop.UOp {
	r := rewriters.Get().(*rewriter)
	r.up, r.down, r.ctx = up, down, ctx
	r.reset()
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
	newN  *uop.UOp // what the node is at this stage
	at    int32
	link  int32 // linked: slot of newN
	stage stage
}

// waiter is a step that waits for a node, in a list.
type waiter struct {
	w    work
	next int32
}

type rewriter struct {
	up, down *Table
	ctx      any
	slots
	stack   []work
	waiters []waiter
	src     []*uop.UOp
	visits  int
}

// maxKept bounds what a rewriter that is kept for reuse may hold.
const maxKept = 1 << 14

func (r *rewriter) release() {
	if len(r.slots.list) > maxKept || cap(r.stack) > maxKept {
		return
	}
	r.slots.clear()
	clear(r.stack[:cap(r.stack)])
	clear(r.waiters)
	clear(r.src[:cap(r.src)])
	r.up, r.down, r.ctx = nil, nil, nil
	rewriters.Put(r)
}

func (r *rewriter) reset() {
	r.stack, r.waiters, r.src, r.visits = r.stack[:0], r.waiters[:0], r.src[:0], 0
	r.slots.reset()
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
	r.push(work{root, top, 0, enter})
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
			r.enter(w)
		case built:
			r.rebuild(w)
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

func (r *rewriter) enter(w work) {
	if r.down != nil {
		v, gated := r.fixpoint(w.newN)
		if gated {
			r.done(w.at, v)
			return
		}
		w.newN = v
	}
	w.stage = built
	r.push(w)
	for i := len(w.newN.Src) - 1; i >= 0; i-- {
		s := w.newN.Src[i]
		at := r.slot(s)
		if !r.list[at].placed {
			r.list[at].placed = true
			r.push(work{s, at, 0, enter})
		}
	}
}

// fixpoint applies the parents-first table until it no longer answers.
func (r *rewriter) fixpoint(n *uop.UOp) (v *uop.UOp, gated bool) {
	var seen []*uop.UOp
	for {
		at := r.slot(n)
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
		seen = append(seen, n)
		for _, s := range seen {
			if s == next {
				panic("rewrite.GraphTopDown: rules go in a circle at " + next.String())
			}
		}
		n = next
	}
}

func (r *rewriter) rebuild(w work) {
	src := w.newN.Src
	out := r.src[:0]
	for i, s := range src {
		at := r.slot(s)
		v := r.list[at].final
		if v == nil {
			r.wait(at, w)
			return
		}
		if v != s && len(out) == 0 {
			out = append(out, src[:i]...)
			out = append(out, v)
		} else if len(out) > 0 {
			out = append(out, v)
		}
	}
	r.src = out
	var next *uop.UOp
	if len(out) > 0 {
		next = w.newN.Graph().NewCopy(w.newN.Op, w.newN.DType, out, w.newN.Arg, w.newN.Tag)
	} else {
		if r.up != nil {
			r.visits++
			next = r.up.Rewrite(r.ctx, w.newN)
		}
		if next == nil {
			r.done(w.at, w.newN)
			return
		}
	}
	at := r.slot(next)
	r.push(work{next, w.at, at, linked})
	r.push(work{next, at, 0, enter})
}
