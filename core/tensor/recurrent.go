package tensor

import (
	"slices"

	"polygrad/core/uop"
)

// RecurrentWeights are the parameters of a recurrent layer of H units: for inputs (parts H, I) and for the state (parts H, H), and their
// biases (parts H), which may be nil. The parts of an LSTM are the input gate, the forget gate, the candidate and the output gate;
// those of a GRU the reset gate, the update gate and the candidate.
type RecurrentWeights struct {
	Input, Hidden, InputBias, HiddenBias *uop.UOp
}

// LSTMCell is one step of long short-term memory (Hochreiter and Schmidhuber, 1997; with the forget gate of Gers, Schmidhuber
// and Cummins, 2000) from the state h and c, shape (…, H), by x, shape (…, I):
// i, f, o = sigmoid, g = tanh of the parts of x Wiᵀ + bi + h Whᵀ + bh; c = f c + i g; h = o tanh(c).
func LSTMCell(x, h, c *uop.UOp, w RecurrentWeights) (newH, newC *uop.UOp, err error) {
	defer guard("LSTMCell", &err)
	s := cellStep(lstmCell, x, []*uop.UOp{h, c}, w)
	return s[0], s[1], nil
}

// GRUCell is one step of a gated recurrent unit (Cho et al., 2014) from the state h, shape (…, H), by x, shape (…, I):
// r, z = sigmoid of the parts of x Wiᵀ + bi + h Whᵀ + bh; n = tanh of x Wiᵀ + bi + r (h Whᵀ + bh); h = (1 - z) n + z h.
func GRUCell(x, h *uop.UOp, w RecurrentWeights) (newH *uop.UOp, err error) {
	defer guard("GRUCell", &err)
	return cellStep(gruCell, x, []*uop.UOp{h}, w)[0], nil
}

func cellStep(kind int, x *uop.UOp, states []*uop.UOp, w RecurrentWeights) []*uop.UOp {
	needRecurrent(kind, x, states, w)
	xs, hs := x.Shape(), states[0].Shape()
	if n := len(xs); len(hs) != n || !xs[:n-1].Equal(hs[:n-1]) {
		fail("h", "has shape %s, expected the leading sizes of x, %s", hs, xs)
	}
	parts := int64(cells[kind].parts)
	given, hidden := linear(x, transpose(w.Input, 0, 1), w.InputBias), linear(states[0], transpose(w.Hidden, 0, 1), w.HiddenBias)
	return cells[kind].step(chunk(given, parts, -1), chunk(hidden, parts, -1), states)
}

// LSTM runs a layer over a sequence x, (T, N, I), or (N, T, I) if batchFirst, from the state h and c, (N, H), in reverse from
// its end. The results are the outputs, (T, N, H) or (N, T, H), in the order of x, and the state at the end.
func LSTM(x, h, c *uop.UOp, w RecurrentWeights, batchFirst, reverse bool) (out, newH, newC *uop.UOp, err error) {
	defer guard("LSTM", &err)
	out, ends := overTime(lstmCell, x, []*uop.UOp{h, c}, w, batchFirst, reverse)
	return out, ends[0], ends[1], nil
}

// GRU is LSTM with the cell of GRUCell.
func GRU(x, h *uop.UOp, w RecurrentWeights, batchFirst, reverse bool) (out, newH *uop.UOp, err error) {
	defer guard("GRU", &err)
	out, ends := overTime(gruCell, x, []*uop.UOp{h}, w, batchFirst, reverse)
	return out, ends[0], nil
}

func overTime(kind int, x *uop.UOp, states []*uop.UOp, w RecurrentWeights, batchFirst, reverse bool) (out *uop.UOp, ends []*uop.UOp) {
	needRecurrent(kind, x, states, w)
	time, batch := 0, 1
	if batchFirst {
		time, batch = 1, 0
	}
	xs, hs := x.Shape(), states[0].Shape()
	if len(xs) != 3 {
		fail("x", "has shape %s, expected 3 dimensions", xs)
	}
	if len(hs) != 2 || hs[0] != xs[batch] {
		fail("h", "has shape %s, expected (%s, H)", hs, xs[batch])
	}
	n := intSize("x", xs, time)
	if n == 0 {
		fail("x", "has shape %s, expected one step or more", xs)
	}
	given := linear(x, transpose(w.Input, 0, 1), w.InputBias)
	if batchFirst {
		given = transpose(given, 0, 1)
	}
	all := recurrence{kind, reverse, given.ContiguousOp(), w.Hidden, w.HiddenBias, states}.recur()
	last := uop.N(n - 1)
	if reverse {
		last = uop.N(0)
	}
	for _, s := range statesAt(all, last) {
		ends = append(ends, squeeze(s, 0))
	}
	if out = squeeze(block(all, 0, uop.N(0), 1), 0); batchFirst {
		out = transpose(out, 0, 1)
	}
	return out, ends
}

func needRecurrent(kind int, x *uop.UOp, states []*uop.UOp, w RecurrentWeights) {
	need("x", x)
	for i, s := range states {
		needSame([]string{"h", "c"}[i], x, s)
	}
	needSame("w_ih", x, w.Input)
	needSame("w_hh", x, w.Hidden)
	xs, hs, is := x.Shape(), states[0].Shape(), w.Input.Shape()
	if len(xs) == 0 || len(hs) == 0 {
		fail("x", "has shape %s and h %s, expected 1 dimension or more", xs, hs)
	}
	needFloat("x", x)
	for _, c := range states[1:] {
		if !c.Shape().Equal(hs) {
			fail("c", "has shape %s, expected that of h, %s", c.Shape(), hs)
		}
	}
	units := intSize("h", hs, len(hs)-1)
	gates := int64(cells[kind].parts) * units
	if want := (uop.Shape{uop.N(gates), xs[len(xs)-1]}); !is.Equal(want) {
		fail("w_ih", "has shape %s, expected %s", is, want)
	}
	if want := uop.ShapeOf(gates, units); !w.Hidden.Shape().Equal(want) {
		fail("w_hh", "has shape %s, expected %s", w.Hidden.Shape(), want)
	}
	for _, b := range []struct {
		arg  string
		bias *uop.UOp
	}{{"b_ih", w.InputBias}, {"b_hh", w.HiddenBias}} {
		if b.bias == nil {
			continue
		}
		needSame(b.arg, x, b.bias)
		if want := uop.ShapeOf(gates); !b.bias.Shape().Equal(want) {
			fail(b.arg, "has shape %s, expected %s", b.bias.Shape(), want)
		}
	}
}

// A cell is one step of a recurrent layer of H units. The gates are computed from two products with weights: given of the inputs, and hidden of the
// state h. Both consist of parts of H elements.
type cell struct {
	parts, states int
	// summed says that the gates depend only on given + hidden: hidden is that sum then.
	summed bool
	// next calls keep with the number and the value of each state after the step (h is number 0), and goes on with the value that keep returns.
	next func(given, hidden, before []*uop.UOp, keep func(k int, v *uop.UOp) *uop.UOp)
	// back gives the gradients of given, of hidden and of the states before the step from g, those of the states after it. dGiven is nil if it equals
	// dHidden. dBefore does not include what comes through hidden, and is nil for a state that has no other gradient.
	back func(given, hidden, before, after, g []*uop.UOp) (dGiven, dHidden, dBefore []*uop.UOp)
}

// step are the states after a step.
func (c cell) step(given, hidden, before []*uop.UOp) []*uop.UOp {
	after := make([]*uop.UOp, c.states)
	c.next(given, c.total(given, hidden), before, func(k int, v *uop.UOp) *uop.UOp {
		after[k] = v
		return v
	})
	return after
}

// total is the input of the gates from the hidden state, to which the input from given is added if the cell sums them.
func (c cell) total(given, hidden []*uop.UOp) []*uop.UOp {
	if !c.summed {
		return hidden
	}
	sums := make([]*uop.UOp, len(given))
	for k := range sums {
		sums[k] = add(given[k], hidden[k])
	}
	return sums
}

const (
	lstmCell = iota
	gruCell
)

var cells = [...]cell{lstmCell: {4, 2, true, lstmNext, lstmBack}, gruCell: {3, 1, false, gruNext, gruBack}}

// lstmNext is a step of an LSTM: i, f, o = sigmoid, g = tanh of the parts, c = f c + i g, h = o tanh(c).
func lstmNext(given, hidden, before []*uop.UOp, keep func(k int, v *uop.UOp) *uop.UOp) {
	i, f, g, o := lstmGates(hidden)
	c := keep(1, add(mul(f, before[1]), mul(i, g)))
	keep(0, mul(o, tanh(c)))
}

func lstmGates(parts []*uop.UOp) (i, f, g, o *uop.UOp) {
	return sigmoid(parts[0]), sigmoid(parts[1]), tanh(parts[2]), sigmoid(parts[3])
}

func lstmBack(given, hidden, before, after, grads []*uop.UOp) (dGiven, dHidden, dBefore []*uop.UOp) {
	i, f, g, o := lstmGates(hidden)
	t := tanh(after[1])
	dc := add(grads[1], mul(mul(grads[0], o), sub(1, square(t))))
	return nil, []*uop.UOp{
		mul(mul(dc, g), ofSigmoid(i)), mul(mul(dc, before[1]), ofSigmoid(f)), mul(mul(dc, i), sub(1, square(g))), mul(mul(grads[0], t), ofSigmoid(o)),
	}, []*uop.UOp{nil, mul(dc, f)}
}

// ofSigmoid is the derivative of sigmoid where its value is y.
func ofSigmoid(y *uop.UOp) *uop.UOp { return mul(y, sub(1, y)) }

// gruNext is a step of a GRU: r, z = sigmoid of the parts, n = tanh of given + r hidden, h = n + z (h - n).
func gruNext(given, hidden, before []*uop.UOp, keep func(k int, v *uop.UOp) *uop.UOp) {
	_, z, n := gruGates(given, hidden)
	keep(0, add(n, mul(z, sub(before[0], n))))
}

func gruGates(given, hidden []*uop.UOp) (r, z, n *uop.UOp) {
	r, z = sigmoid(add(given[0], hidden[0])), sigmoid(add(given[1], hidden[1]))
	return r, z, tanh(add(given[2], mul(r, hidden[2])))
}

func gruBack(given, hidden, before, after, grads []*uop.UOp) (dGiven, dHidden, dBefore []*uop.UOp) {
	r, z, n := gruGates(given, hidden)
	dn := mul(mul(grads[0], sub(1, z)), sub(1, square(n)))
	dr := mul(mul(dn, hidden[2]), ofSigmoid(r))
	dz := mul(mul(grads[0], sub(before[0], n)), ofSigmoid(z))
	return []*uop.UOp{dr, dz, dn}, []*uop.UOp{dr, dz, mul(dn, r)}, []*uop.UOp{mul(grads[0], z)}
}

// A recurrence runs a cell over time, in reverse from the end.
type recurrence struct {
	cell    int
	reverse bool
	// given is (T, N, parts H), weight (parts H, H), bias (parts H) or nil, states are those before, (N, H) each.
	given, weight, bias *uop.UOp
	states              []*uop.UOp
}

// inputs are the tensors of a recurrence in a list.
func (r recurrence) inputs() []*uop.UOp {
	in := append([]*uop.UOp{r.given, r.weight}, r.states...)
	if r.bias != nil {
		in = append(in, r.bias)
	}
	return in
}

func (r recurrence) numbers() []int64 {
	n := []int64{int64(r.cell), 0}
	if r.reverse {
		n[1] = 1
	}
	return n
}

// recurrenceOf makes a recurrence of its numbers and inputs; in may have more tensors after them.
func recurrenceOf(numbers []int, in []*uop.UOp) recurrence {
	r := recurrence{cell: numbers[0], reverse: numbers[1] == 1, given: in[0], weight: in[1]}
	n := 2 + cells[r.cell].states
	r.states = in[2:n]
	if len(in) > n {
		r.bias = in[n]
	}
	return r
}

func (r recurrence) sizes() (time, batch, units int64) {
	s := r.given.Shape()
	return s[0].N, s[1].N, r.weight.Shape()[1].N
}

// at is the time of step i, with steps counted from the last one if backwards.
func (r recurrence) at(i uop.Sint, backwards bool) uop.Sint {
	if r.reverse == backwards {
		return i
	}
	return uop.N(r.given.Shape()[0].N - 1).Sub(i)
}

// partsAt are the parts of a tensor (T, N, parts H) at one place, (1, N, H) each.
func partsAt(x *uop.UOp, at uop.Sint, units int64) (parts []*uop.UOp) {
	x = block(x, 0, at, 1)
	for lo := int64(0); lo < x.Shape()[2].N; lo += units {
		parts = append(parts, block(x, 2, uop.N(lo), units))
	}
	return parts
}

// statesAt are the states of (s, T, N, H) at one place, (1, N, H) each.
func statesAt(x *uop.UOp, at uop.Sint) (states []*uop.UOp) {
	for k := range x.Shape()[0].N {
		states = append(states, squeeze(block(block(x, 0, uop.N(k), 1), 1, at, 1), 0))
	}
	return states
}

// recur gives the states (s, T, N, H) at all times.
func (r recurrence) recur() *uop.UOp {
	if asTinygrad(r.given) || r.given.Shape()[1].Symbolic() {
		_, _, after := r.unrolled()
		return stackStates(after)
	}
	_, after := r.loop()
	return customGradient(gradientOfRecurrence, after, r.inputs(), r.numbers())
}

// loop gives hidden (T, N, parts H) and the states (s, T, N, H) of all times.
func (r recurrence) loop() (hidden, after *uop.UOp) {
	c, dt := cells[r.cell], r.given.DType
	time, batch, units := r.sizes()
	first := r.given
	if !c.summed {
		first = zeros(r.given, dt, time, batch, units*int64(c.parts))
	}
	states := []*uop.UOp{first, zeros(r.given, dt, int64(c.states), time, batch, units)}
	for _, s := range r.states {
		states = append(states, unsqueeze(s, 0))
	}
	read := []*uop.UOp{r.given, transpose(r.weight, 0, 1)}
	if r.bias != nil {
		read = append(read, r.bias)
	}
	out := loop{variable: "step", count: time}.run(states, read, func(b *loopBody, i uop.Sint, s, read []*uop.UOp) {
		var bias *uop.UOp
		if len(read) > 2 {
			bias = read[2]
		}
		at, hidden, now := r.at(i, false), s[0], s[2:]
		to, product := block(hidden, 0, at, 1), linear(now[0], read[1], bias)
		if c.summed {
			product = add(to, product)
		}
		b.do(to.AssignTo(product))
		var moves []*uop.UOp
		c.next(partsAt(read[0], at, units), partsAt(hidden, at, units), now, func(k int, v *uop.UOp) *uop.UOp {
			to := statesAt(s[1], at)[k]
			b.do(to.AssignTo(v))
			moves = append(moves, now[k].AssignTo(to))
			return to
		})
		b.do(moves...)
	})
	return out[0], out[1]
}

// unrolled gives the results of loop, and the states before each step, as separate values for each time.
func (r recurrence) unrolled() (hidden []*uop.UOp, before, after [][]*uop.UOp) {
	time, _, units := r.sizes()
	hidden, before, after = make([]*uop.UOp, time), make([][]*uop.UOp, time), make([][]*uop.UOp, time)
	var now []*uop.UOp
	for _, s := range r.states {
		now = append(now, unsqueeze(s, 0))
	}
	for i := range time {
		at := r.at(uop.N(i), false)
		hidden[at.N] = linear(now[0], transpose(r.weight, 0, 1), r.bias)
		before[at.N] = now
		now = cells[r.cell].step(partsAt(r.given, at, units), partsAt(hidden[at.N], uop.N(0), units), now)
		after[at.N] = now
	}
	return hidden, before, after
}

// stackStates are states by time and number as one tensor (s, T, N, H).
func stackStates(steps [][]*uop.UOp) *uop.UOp {
	all := make([]*uop.UOp, len(steps[0]))
	for k := range all {
		var own []*uop.UOp
		for _, s := range steps {
			own = append(own, s[k])
		}
		all[k] = squeeze(stack(own, 0), 1)
	}
	return stack(all, 0)
}

// before are the states before each step, (s, T, N, H), from those after it.
func (r recurrence) before(after *uop.UOp) *uop.UOp {
	n := after.Shape()[1]
	first := unsqueeze(stack(r.states, 0), 1)
	if r.reverse {
		return cat([]*uop.UOp{shrinkAxis(after, 1, uop.N(1), n), first}, 1)
	}
	return cat([]*uop.UOp{first, shrinkAxis(after, 1, uop.N(0), n.Sub(uop.N(1)))}, 1)
}

// backward gives the gradients of given, of hidden, and of the states before the first step from g, the gradients of the states at all times.
func (r recurrence) backward(g *uop.UOp) []*uop.UOp {
	c, dt := cells[r.cell], r.given.DType
	hidden, after := r.loop()
	time, batch, units := r.sizes()
	all := zeros(r.given, dt, time, batch, units*int64(c.parts))
	states := []*uop.UOp{all}
	if !c.summed {
		states = append(states, all)
	}
	n := len(states)
	for range c.states {
		states = append(states, zeros(r.given, dt, 1, batch, units))
	}
	read := []*uop.UOp{r.given, r.weight, hidden, r.before(after), after, g}
	out := loop{variable: "step", count: time}.run(states, read, func(b *loopBody, i uop.Sint, s, in []*uop.UOp) {
		at, now := r.at(i, true), s[n:]
		dGiven, dHidden, dBefore := c.backStep(at, in[0], partsAt(in[2], at, units), statesAt(in[3], at), statesAt(in[4], at), now, statesAt(in[5], at))
		var writes []*uop.UOp
		for k, v := range dGiven {
			writes = append(writes, partsAt(s[0], at, units)[k].AssignTo(v))
		}
		for k, v := range dHidden {
			writes = append(writes, partsAt(s[n-1], at, units)[k].AssignTo(v))
		}
		for k, v := range dBefore {
			if v != nil {
				writes = append(writes, now[k].AssignTo(v))
			}
		}
		b.do(writes...)
		dh := dot(block(s[n-1], 0, at, 1), in[1], nil)
		if dBefore[0] != nil {
			dh = add(now[0], dh)
		}
		b.do(now[0].AssignTo(dh))
	})
	return slices.Concat(out[:1], out[n-1:])
}

// backStep is a step backwards at a time: now are the gradients of the states that come from later steps, g those of the states at this time.
func (c cell) backStep(at uop.Sint, given *uop.UOp, hidden, before, after, now, g []*uop.UOp) (dGiven, dHidden, dBefore []*uop.UOp) {
	grads := make([]*uop.UOp, len(now))
	for k := range now {
		grads[k] = add(now[k], g[k])
	}
	return c.back(partsAt(given, at, now[0].Shape()[2].N), hidden, before, after, grads)
}

// backwardUnrolled gives the same as backward, with the steps unrolled.
func (r recurrence) backwardUnrolled(g *uop.UOp) []*uop.UOp {
	c := cells[r.cell]
	hidden, before, after := r.unrolled()
	time, _, units := r.sizes()
	now := make([]*uop.UOp, c.states)
	for k, s := range r.states {
		now[k] = unsqueeze(fullLike(s, 0), 0)
	}
	parts := [2][]*uop.UOp{make([]*uop.UOp, time), make([]*uop.UOp, time)}
	for i := range time {
		at := r.at(uop.N(i), true)
		dGiven, dHidden, dBefore := c.backStep(at, r.given, c.total(partsAt(r.given, at, units), partsAt(hidden[at.N], uop.N(0), units)), before[at.N], after[at.N], now, statesAt(g, at))
		if dGiven == nil {
			dGiven = dHidden
		}
		parts[0][at.N], parts[1][at.N] = squeeze(cat(dGiven, -1), 0), squeeze(cat(dHidden, -1), 0)
		dh := dot(unsqueeze(parts[1][at.N], 0), r.weight, nil)
		if dBefore[0] != nil {
			dh = add(dBefore[0], dh)
		}
		now = append([]*uop.UOp{dh}, dBefore[1:]...)
	}
	return append([]*uop.UOp{stack(parts[0], 0), stack(parts[1], 0)}, now...)
}

// recurrenceRule is the gradient of recur. For higher derivatives, the results of the loop are differentiated as those of the unrolled steps.
func recurrenceRule(g, u *uop.UOp, numbers []int) []*uop.UOp {
	r := recurrenceOf(numbers, u.Src[1:])
	c := cells[r.cell]
	found := r.backward(g)
	of := append(slices.Clone(u.Src[1:]), g)
	for k, v := range found {
		found[k] = customGradient(gradientOfUnrolled, v, of, r.numbers(), []int64{int64(k)})
	}
	time, batch, units := r.sizes()
	rows := func(x *uop.UOp) *uop.UOp { return reshape(x, uop.Shape{uop.N(time * batch), x.Shape()[2]}) }
	h := squeeze(block(r.before(u), 0, uop.N(0), 1), 0)
	out := []*uop.UOp{nil, found[0], dot(transpose(rows(found[1]), 0, 1), rows(h), nil)}
	for k := range c.states {
		out = append(out, reshape(found[2+k], uop.ShapeOf(batch, units)))
	}
	if r.bias != nil {
		out = append(out, sum(rows(found[1]), []int{0}, false))
	}
	return out
}
