package rewrite

import "polygrad/core/uop"

// stackLimit bounds the work list: rules that never settle end in an error instead of eating all memory.
const stackLimit = 250_000

// Gate is what a parents-first rule returns to keep its node and not go below it.
var Gate = uop.NewScratch().New(uop.Noop, uop.Void, nil, uop.Str("gate"), nil)

type stage uint8

const (
	enter  stage = iota // not looked at yet
	built               // sources are being rewritten
	linked              // a replacement is being rewritten
)

type work struct {
	n     *uop.UOp
	newN  *uop.UOp
	stage stage
}

type rewriter struct {
	pm, bpm  *Table
	ctx      any
	replace  map[*uop.UOp]*uop.UOp
	onStack  map[*uop.UOp]struct{}
	waiting  map[*uop.UOp][]work
	bpmCache map[*uop.UOp]*uop.UOp
	stack    []work
	visits   int
}

// Graph rewrites the graph below root, children first: a node is given to the table
// once its sources are final. A replacement is rewritten in turn, until no rule applies.
func Graph(root *uop.UOp, t *Table, ctx any) *uop.UOp {
	return newRewriter(t, nil, ctx).run(root)
}

// GraphTopDown rewrites parents first: a node is rewritten until no rule applies, then
// its sources are visited. A rule may return Gate to leave everything below its node alone.
// tinygrad calls this order bottom_up.
func GraphTopDown(root *uop.UOp, t *Table, ctx any) *uop.UOp {
	return newRewriter(nil, t, ctx).run(root)
}

// GraphBoth rewrites with one table on the way down and another on the way up.
func GraphBoth(root *uop.UOp, down, up *Table, ctx any) *uop.UOp {
	return newRewriter(up, down, ctx).run(root)
}

func newRewriter(pm, bpm *Table, ctx any) *rewriter {
	return &rewriter{pm: pm, bpm: bpm, ctx: ctx, replace: map[*uop.UOp]*uop.UOp{}, onStack: map[*uop.UOp]struct{}{},
		waiting: map[*uop.UOp][]work{}, bpmCache: map[*uop.UOp]*uop.UOp{}}
}

func (r *rewriter) push(w work) { r.stack = append(r.stack, w) }

func (r *rewriter) done(n, v *uop.UOp) {
	r.replace[n] = v
	if w, ok := r.waiting[n]; ok {
		delete(r.waiting, n)
		r.stack = append(r.stack, w...)
	}
}

func (r *rewriter) wait(on *uop.UOp, w work) { r.waiting[on] = append(r.waiting[on], w) }

// run is the state machine. The order of visits is observable, since contexts hand out numbers
// while rules match, so it follows tinygrad's unified_rewrite step by step.
func (r *rewriter) run(root *uop.UOp) *uop.UOp {
	r.push(work{root, root, enter})
	r.onStack[root] = struct{}{}
	for len(r.stack) > 0 {
		if len(r.stack) > stackLimit {
			panic("rewrite.Graph: rules do not settle (work list over the limit) at " + root.String())
		}
		w := r.stack[len(r.stack)-1]
		r.stack = r.stack[:len(r.stack)-1]
		if _, ok := r.replace[w.n]; ok {
			continue
		}
		switch w.stage {
		case enter:
			r.enter(w)
		case built:
			r.rebuild(w)
		case linked:
			if v, ok := r.replace[w.newN]; ok {
				r.done(w.n, v)
			} else {
				r.wait(w.newN, w)
			}
		}
	}
	visits.Add(int64(r.visits))
	return r.replace[root]
}

func (r *rewriter) enter(w work) {
	if r.bpm != nil {
		v, gated := r.fixpoint(w.newN)
		if gated {
			r.done(w.n, v)
			return
		}
		w.newN = v
	}
	w.stage = built
	r.push(w)
	for i := len(w.newN.Src) - 1; i >= 0; i-- {
		s := w.newN.Src[i]
		if _, ok := r.onStack[s]; ok {
			continue
		}
		r.push(work{s, s, enter})
		r.onStack[s] = struct{}{}
	}
}

// fixpoint applies the parents-first table until it no longer answers.
func (r *rewriter) fixpoint(n *uop.UOp) (v *uop.UOp, gated bool) {
	var seen map[*uop.UOp]struct{}
	for {
		next, ok := r.bpmCache[n]
		if !ok {
			r.visits++
			next = r.bpm.Rewrite(r.ctx, n)
			if next == Gate {
				return n, true
			}
			r.bpmCache[n] = next
		}
		if next == nil {
			return n, false
		}
		if seen == nil {
			seen = map[*uop.UOp]struct{}{}
		}
		seen[n] = struct{}{}
		if _, ok := seen[next]; ok {
			panic("rewrite.GraphTopDown: rules go in a circle at " + next.String())
		}
		n = next
	}
}

func (r *rewriter) rebuild(w work) {
	src := w.newN.Src
	var out []*uop.UOp
	for i, s := range src {
		v, ok := r.replace[s]
		if !ok {
			r.wait(s, w)
			return
		}
		if v != s && out == nil {
			out = make([]*uop.UOp, len(src))
			copy(out, src[:i])
		}
		if out != nil {
			out[i] = v
		}
	}
	var next *uop.UOp
	if out != nil {
		next = w.newN.Graph().New(w.newN.Op, w.newN.DType, out, w.newN.Arg, w.newN.Tag)
	} else {
		if r.pm != nil {
			r.visits++
			next = r.pm.Rewrite(r.ctx, w.newN)
		}
		if next == nil {
			r.done(w.n, w.newN)
			return
		}
	}
	r.push(work{w.n, next, linked})
	r.push(work{next, next, enter})
}
