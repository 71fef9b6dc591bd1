package tensor

import (
	"slices"

	"polygrad/core/uop"
)

// LSTMWeights are the parameters of a layer of an LSTM with H units: for inputs (4H, I) and for the state (4H, H), and their
// biases (4H), which may be nil. The four parts are the input gate, the forget gate, the candidate and the output gate.
type LSTMWeights struct {
	Input, Hidden, InputBias, HiddenBias *uop.UOp
}

// LSTMCell is one step of long short-term memory (Hochreiter and Schmidhuber, 1997; with the forget gate of Gers, Schmidhuber
// and Cummins, 2000) from the state h and c, shape (…, H), by x, shape (…, I):
// i, f, o = sigmoid, g = tanh of the parts of x Wiᵀ + bi + h Whᵀ + bh; c = f c + i g; h = o tanh(c).
func LSTMCell(x, h, c *uop.UOp, w LSTMWeights) (newH, newC *uop.UOp, err error) {
	defer guard("LSTMCell", &err)
	needLSTM(x, h, c, w)
	xs, hs := x.Shape(), h.Shape()
	if n := len(xs); len(hs) != n || !xs[:n-1].Equal(hs[:n-1]) {
		fail("h", "has shape %s, expected the leading sizes of x, %s", hs, xs)
	}
	newH, newC = lstmStep(linear(x, transpose(w.Input, 0, 1), w.InputBias), h, c, w)
	return newH, newC, nil
}

// lstmStep is a step from the input's part of the gates.
func lstmStep(given, h, c *uop.UOp, w LSTMWeights) (newH, newC *uop.UOp) {
	gates := chunk(add(given, linear(h, transpose(w.Hidden, 0, 1), w.HiddenBias)), 4, -1)
	i, f, g, o := sigmoid(gates[0]), sigmoid(gates[1]), tanh(gates[2]), sigmoid(gates[3])
	newC = add(mul(f, c), mul(i, g))
	return mul(o, tanh(newC)), newC
}

// LSTM runs a layer over a sequence x, (T, N, I), or (N, T, I) if batchFirst, from the state h and c, (N, H), in reverse from
// its end. The results are the outputs, (T, N, H) or (N, T, H), in the order of x, and the state at the end.
func LSTM(x, h, c *uop.UOp, w LSTMWeights, batchFirst, reverse bool) (out, newH, newC *uop.UOp, err error) {
	defer guard("LSTM", &err)
	needLSTM(x, h, c, w)
	time, batch := 0, 1
	if batchFirst {
		time, batch = 1, 0
	}
	xs, hs := x.Shape(), h.Shape()
	if len(xs) != 3 {
		fail("x", "has shape %s, expected 3 dimensions", xs)
	}
	if len(hs) != 2 || hs[0] != xs[batch] {
		fail("h", "has shape %s, expected (%s, H)", hs, xs[batch])
	}
	n := int(intSize("x", xs, time))
	if n == 0 {
		fail("x", "has shape %s, expected one step or more", xs)
	}
	inputs := steps(x, time)
	outs := make([]*uop.UOp, n)
	for step := range n {
		at := step
		if reverse {
			at = n - 1 - step
		}
		h, c = lstmStep(linear(inputs[at], transpose(w.Input, 0, 1), w.InputBias), h, c, w)
		outs[at] = h
	}
	return stackSteps(outs, time), h, c, nil
}

// group is the number of steps joined at once. Joining pads and adds, so n parts cost n additions for each element; groups with
// buffers of their own cost far fewer.
const group = 16

// steps are the slices of x along an axis, without that axis.
func steps(x *uop.UOp, axis int) (parts []*uop.UOp) {
	n := int(intSize("x", x.Shape(), axis))
	for lo := 0; lo < n; lo += group {
		hi := min(lo+group, n)
		some := x
		if n > group {
			some = shrinkAxis(x, axis, uop.N(int64(lo)), uop.N(int64(hi))).Alu(uop.ContiguousBackward)
		}
		for i := range hi - lo {
			parts = append(parts, squeeze(shrinkAxis(some, axis, uop.N(int64(i)), uop.N(int64(i+1))), axis))
		}
	}
	return parts
}

// stackSteps stacks the slices that steps gives.
func stackSteps(parts []*uop.UOp, axis int) *uop.UOp {
	if len(parts) <= group {
		return stack(parts, axis)
	}
	var groups []*uop.UOp
	for some := range slices.Chunk(parts, group) {
		groups = append(groups, stack(some, axis).ContiguousOp())
	}
	return cat(groups, axis)
}

func needLSTM(x, h, c *uop.UOp, w LSTMWeights) {
	needSame("operands", x, h, c, w.Input, w.Hidden)
	xs, hs, is := x.Shape(), h.Shape(), w.Input.Shape()
	if len(xs) == 0 || len(hs) == 0 {
		fail("x", "has shape %s and h %s, expected 1 dimension or more", xs, hs)
	}
	needFloat("x", x)
	if !c.Shape().Equal(hs) {
		fail("c", "has shape %s, expected that of h, %s", c.Shape(), hs)
	}
	units := intSize("h", hs, len(hs)-1)
	if want := (uop.Shape{uop.N(4 * units), xs[len(xs)-1]}); !is.Equal(want) {
		fail("w_ih", "has shape %s, expected %s", is, want)
	}
	if want := uop.ShapeOf(4*units, units); !w.Hidden.Shape().Equal(want) {
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
		if want := uop.ShapeOf(4 * units); !b.bias.Shape().Equal(want) {
			fail(b.arg, "has shape %s, expected %s", b.bias.Shape(), want)
		}
	}
}
