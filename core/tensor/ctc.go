package tensor

import (
	"math"
	"slices"

	"polygrad/core/uop"
)

// alignment describes the paths that the loss of connectionist temporal classification sums over (Graves et al., 2006). The target of a
// sample, with blanks around and between its labels, has L places. In each step a path stays at its place, goes on to the next one, or
// skips the blank between two different labels.
type alignment struct {
	// scores (T, N, L) are the log probabilities of the places' labels at all steps; skips and ends (N, L) are the places that may be
	// reached past a blank, and at which a path may end; lengths (N, 1) are the steps of the samples.
	scores, skips, ends, lengths *uop.UOp
}

func (a alignment) inputs() []*uop.UOp { return []*uop.UOp{a.scores, a.skips, a.ends, a.lengths} }

func alignmentOf(in []*uop.UOp) alignment { return alignment{in[0], in[1], in[2], in[3]} }

// logSum is the logarithm of the sum of exponentials, of numbers of which all may be -inf.
func logSum(terms ...*uop.UOp) *uop.UOp {
	most := terms[0]
	for _, t := range terms[1:] {
		most = maximum(most, t)
	}
	most = detach(where(eq(most, math.Inf(-1)), 0, most))
	var total *uop.UOp
	for _, t := range terms {
		if e := exp(sub(t, most)); total == nil {
			total = e
		} else {
			total = add(total, e)
		}
	}
	return add(log(total), most)
}

// moved are the values (N, L) of the place n before each one, of a later place if n is negative; -inf where there is none.
func moved(x *uop.UOp, n int64) *uop.UOp {
	size := x.Shape()[1]
	if n > 0 {
		return shrinkAxis(padAxis(x, 1, n, 0, math.Inf(-1)), 1, uop.N(0), size)
	}
	return shrinkAxis(padAxis(x, 1, 0, -n, math.Inf(-1)), 1, uop.N(-n), size.Add(uop.N(-n)))
}

// forward are the log probabilities of all paths up to each place at a step, from those before it and its scores.
func (a alignment) forward(before, scores *uop.UOp, step operand) *uop.UOp {
	next := add(logSum(before, moved(before, 1), where(a.skips, moved(before, 2), math.Inf(-1))), scores)
	return where(lt(step, a.lengths), next, before)
}

// backward are the log probabilities of all continuations of paths after each place, from those of the next step and its scores.
func (a alignment) backward(behind, scores *uop.UOp, next operand) *uop.UOp {
	all := add(behind, scores)
	past := moved(where(a.skips, all, math.Inf(-1)), -2)
	return where(lt(next, a.lengths), logSum(all, moved(all, -1), past), behind)
}

// paths are forward, or backward, of all steps (T, N, L), by a loop or unrolled.
func (a alignment) paths(backwards, unrolled bool) *uop.UOp {
	s := a.scores.Shape()
	time, n, l := s[0].N, s[1].N, s[2].N
	none := full(a.scores.Graph(), uop.ShapeOf(n, l), uop.Float(math.Inf(-1)), a.scores.DType)
	at := func(x *uop.UOp, step uop.Sint) *uop.UOp { return squeeze(block(x, 0, step, 1), 0) }
	now := where(a.ends, 0, none)
	if !backwards {
		now = where(lt(count0(none.Graph(), l), 2), at(a.scores, uop.N(0)), none)
	}
	parts := []*uop.UOp{unsqueeze(now, 0)}
	next := func(a alignment, now *uop.UOp, i uop.Sint) *uop.UOp {
		if backwards {
			from := uop.N(time - 1).Sub(i)
			return a.backward(now, at(a.scores, from), sizeLike(a.lengths, from))
		}
		from := i.Add(uop.N(1))
		return a.forward(now, at(a.scores, from), sizeLike(a.lengths, from))
	}
	if unrolled {
		for i := range time - 1 {
			now = next(a, now, uop.N(i))
			parts = append(parts, unsqueeze(now, 0))
		}
	} else if time > 1 {
		states := []*uop.UOp{zeros(none, none.DType, time-1, n, l), now}
		out := loop{variable: "step", count: time - 1}.run(states, a.inputs(), func(b *loopBody, i uop.Sint, s, in []*uop.UOp) {
			b.do(s[1].AssignTo(next(alignmentOf(in), s[1], i)))
			to := i
			if backwards {
				to = uop.N(time - 2).Sub(i)
			}
			b.do(block(s[0], 0, to, 1).AssignTo(unsqueeze(s[1], 0)))
		})
		parts = append(parts, out[0])
	}
	if backwards {
		slices.Reverse(parts)
	}
	return cat(parts, 0)
}

// total is the log probability of all paths, (N), from those up to each place at all steps.
func (a alignment) total(before *uop.UOp) *uop.UOp {
	steps := before.Shape()[0]
	last := squeeze(shrinkAxis(before, 0, steps.Sub(uop.N(1)), steps), 0)
	return finiteLogSumExp(where(a.ends, last, math.Inf(-1)), []int{-1}, false)
}

// losses are the negative log probabilities of the targets, (N).
func (a alignment) losses() *uop.UOp {
	if asTinygrad(a.scores) {
		return neg(a.total(a.paths(false, true)))
	}
	return customGradient(gradientOfAlignment, neg(a.total(a.paths(false, false))), a.inputs())
}

// shares are the gradients of losses with respect to scores, times g (N): how probable each place is at each step.
func (a alignment) shares(g *uop.UOp, unrolled bool) *uop.UOp {
	before, behind := a.paths(false, unrolled), a.paths(true, unrolled)
	total := a.total(before)
	total = where(eq(total, math.Inf(-1)), 0, total)
	share := exp(sub(add(before, behind), unsqueeze(total, -1)))
	time := a.scores.Shape()[0]
	steps := reshape(count0(g.Graph(), time.N), uop.Shape{time, uop.N(1), uop.N(1)})
	return where(lt(steps, a.lengths), mul(share, neg(unsqueeze(g, -1))), 0)
}

// alignmentRule is the gradient of losses; what the loops compute is differentiated again as unrolled steps.
func alignmentRule(g, u *uop.UOp) []*uop.UOp {
	a := alignmentOf(u.Src[1:])
	return []*uop.UOp{nil, customGradient(gradientOfShares, a.shares(g, false), append(a.inputs(), g))}
}

// CTCLoss is the loss of connectionist temporal classification for log probabilities x (T, N, C) and class numbers target (N, S), of
// which those up to targetLengths (N) count, as do the steps up to inputLengths (N).
func CTCLoss(x, target, inputLengths, targetLengths *uop.UOp, blank int64, r Reduction, zeroInfinity bool) (loss *uop.UOp, err error) {
	defer guard("CTCLoss", &err)
	needSame("operands", x, target, inputLengths, targetLengths)
	needFloat("x", x)
	needReduction(r)
	s, ts := x.Shape(), target.Shape()
	if len(s) != 3 || s[0].IsNum(0) {
		fail("x", "has shape %s, expected (T, N, C) with one step or more", s)
	}
	if len(ts) != 2 || ts[0] != s[1] {
		fail("targets", "has shape %s, expected (%s, S)", ts, s[1])
	}
	time, n, classes, most := intSize("x", s, 0), intSize("x", s, 1), intSize("x", s, 2), intSize("targets", ts, 1)
	if blank < 0 || blank >= classes {
		fail("blank", "is %d, expected 0 to %d", blank, classes-1)
	}
	needInt("targets", target)
	for i, l := range []*uop.UOp{inputLengths, targetLengths} {
		arg := []string{"input_lengths", "target_lengths"}[i]
		if needInt(arg, l); !l.Shape().Equal(s[1:2]) {
			fail(arg, "has shape %s, expected (%d)", l.Shape(), n)
		}
	}
	lengths, count := reshape(cast(inputLengths, uop.Int32), uop.ShapeOf(n, 1)), reshape(cast(targetLengths, uop.Int32), uop.ShapeOf(n, 1))
	target = where(lt(count0(x.Graph(), most), count), cast(target, uop.Int32), int(blank))
	blanks := fullLike(target, int(blank))
	labels := cat([]*uop.UOp{full(x.Graph(), uop.ShapeOf(n, 1), uop.Int(blank), uop.Int32), flatten(stack([]*uop.UOp{target, blanks}, 2), 1, 2)}, 1)
	places := 2*most + 1
	place := count0(x.Graph(), places)
	earlier := shrinkAxis(padAxis(labels, 1, 2, 0, -1), 1, uop.N(0), uop.N(places))
	a := alignment{
		scores:  gather(x, 2, expand(unsqueeze(labels, 0), uop.ShapeOf(time, n, places))),
		skips:   bitAnd(eq(bitAnd(place, 1), 1), ne(labels, earlier)),
		ends:    bitOr(eq(place, mul(count, 2)), eq(place, sub(mul(count, 2), 1))),
		lengths: lengths,
	}
	loss = a.losses()
	if zeroInfinity {
		loss = where(eq(loss, math.Inf(1)), 0, loss)
	}
	if r == ReduceMean {
		loss = div(loss, cast(maximum(squeeze(count, 1), 1), x.DType))
	}
	return r.of(loss), nil
}
