package ops

import (
	"math"
	"slices"
	"strings"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// A Class is the description of a class of objects for training: a layer, an optimizer or a schedule of learning rates.
type Class struct {
	Name string
	// Base is the class that this one is a case of, or "".
	Base string
	// Doc is a phrase, then what else is to be known.
	Doc string
	// Params are the settings that an object is made with, besides the parameters of an optimizer and the optimizer of a schedule.
	Params []Param
	// Make makes the weights of a layer, nil for one that is left out, or checks the settings of an optimizer.
	Make *Op
	// Weights are the names of the tensors that Make makes; the last ones, as many as Buffers, are not parameters.
	Weights []Weight
	Buffers int
	// Forward calls a layer; it takes weights and settings by their names. Of a schedule it computes the rate from the first one.
	Forward *Op
	// Input is the name of the tensor that a layer is called with.
	Input string
	// Rule is the rate of an optimizer and what it does: tensor.LARSOptions or tensor.LAMBOptions.
	Rule func(a *Args) (lr float64, o any, err error)
	// Settings are what a schedule of the number of steps is made with; Rate is the schedule with them.
	Settings *Op
	Rate     func(a *Args) (Rate, error)
	// Shared and States are the names of an optimizer's state: common to all parameters, and of each.
	Shared, States []string
}

// A Rate is a schedule with its numbers. Base, unless it is nil, is the rate that the optimizer begins with.
type Rate struct {
	Schedule tensor.RateSchedule
	Params   []float64
	Base     *float64
}

// A Weight is a tensor of a layer.
type Weight struct {
	Name     string
	Optional bool
}

// Classes are all classes by their groups, in the order of the documentation.
var Classes = []struct {
	Name    string
	Classes []Class
}{
	{"Layers", layers}, {"Optimizers", optimizers}, {"Schedules", schedules},
}

// ClassNamed returns the description of a class.
func ClassNamed(name string) (*Class, bool) {
	for _, group := range Classes {
		for i := range group.Classes {
			if c := &group.Classes[i]; c.Name == name {
				return c, true
			}
		}
	}
	return nil, false
}

// Callable returns all operations that can be called by name: those of tensors and of modules, and what training needs.
func Callable() []*Op {
	all := append(All(), &clipNorm, &dequantize)
	for _, m := range Modules() {
		for i := range m.Ops {
			all = append(all, &m.Ops[i])
		}
	}
	all = append(all, ofClasses()...)
	for i := range rules() {
		all = append(all, &rules()[i])
	}
	return all
}

// FindCallable returns the description of one of the operations of Callable.
func FindCallable(name string) (*Op, bool) {
	if op, found := Find(name); found {
		return op, true
	}
	for _, op := range append(ofClasses(), &clipNorm, &dequantize) {
		if op.Name == name {
			return op, true
		}
	}
	return nil, false
}

// ofClasses are the operations that make the objects of classes, and that call them.
func ofClasses() (all []*Op) {
	for _, group := range Classes {
		for i := range group.Classes {
			for _, op := range []*Op{group.Classes[i].Make, group.Classes[i].Forward} {
				if op != nil {
					all = append(all, op)
				}
			}
		}
	}
	return all
}

// Keeps reports whether an object has a setting as an attribute: weights have names of their own.
func (c *Class) Keeps(p *Param) bool {
	return !slices.ContainsFunc(c.Weights, func(w Weight) bool { return w.Name == p.Name }) && (p.Name != "bias" || len(c.Weights) == 0)
}

// layer describes a layer: its settings, the names of its weights ("name?" for one that may be left out), how they begin, and what a
// call takes besides its input and computes.
func layer(name, params, weights, doc string, begin func(w *start), takes, gives string, forward func(a *Args) (*uop.UOp, error)) Class {
	c := layerOf(name, params, weights, doc, begin)
	op := method(name+".forward", takes, gives, forward)
	c.Forward = &op
	return c
}

// layerOf describes a layer without what it computes.
func layerOf(name, params, weights, doc string, begin func(w *start)) Class {
	op := describe(Maker, name, params, doc, func(a *Args) ([]*uop.UOp, error) {
		w := start{Args: a}
		begin(&w)
		return w.made, w.err
	})
	op.Random = true
	c := Class{Name: name, Doc: doc, Params: op.Params, Make: &op, Input: "x"}
	for word := range strings.FieldsSeq(weights) {
		word, optional := strings.CutSuffix(word, "?")
		c.Weights = append(c.Weights, Weight{word, optional})
	}
	return c
}

// A start makes the weights of a layer.
type start struct {
	*Args
	made []*uop.UOp
	err  error
}

func (w *start) add(on bool, make func() (*uop.UOp, error)) {
	if !on || w.err != nil {
		w.made = append(w.made, nil)
		return
	}
	u, err := make()
	w.made, w.err = append(w.made, u), err
}

// drawn adds a random weight.
func (w *start) drawn(on bool, f func(s uop.Shape, seed *uop.UOp) (*uop.UOp, error), shape ...int64) {
	w.add(on, func() (*uop.UOp, error) {
		s := uop.ShapeOf(shape...)
		seed, err := w.seed(s, 4)
		if err != nil {
			return nil, err
		}
		return f(s, seed)
	})
}

// uniform adds a weight, uniform in ±1/sqrt(fan in), as PyTorch's layers begin (LeCun et al., Efficient BackProp, 1998).
func (w *start) uniform(on bool, fanIn int64, shape ...int64) {
	bound := 0.0
	if fanIn > 0 {
		bound = 1 / math.Sqrt(float64(fanIn))
	}
	w.drawn(on, func(s uop.Shape, seed *uop.UOp) (*uop.UOp, error) {
		return tensor.UniformSeeded(s, -bound, bound, uop.Float32, seed)
	}, shape...)
}

// filled adds a weight of one number.
func (w *start) filled(on bool, x float64, shape ...int64) {
	w.add(on, func() (*uop.UOp, error) {
		return tensor.Full(w.Graph, uop.ShapeOf(shape...), uop.Float(x), uop.Float32)
	})
}

// scale adds a weight of ones and, if there is one, a bias of zeros.
func (w *start) scale(on, bias bool, shape ...int64) {
	w.filled(on, 1, shape...)
	if bias {
		w.filled(on, 0, shape...)
	}
}

const affine = "eps float = 1e-05 [0,], affine bool = true"

var layers = slices.Concat([]Class{
	layer("Linear", "in_features int [0,], out_features int [0,], bias bool = true", "weight bias?",
		"y = x @ weight.T + bias, with weight of shape (out_features, in_features).\nBoth are initialised uniform in ±1/sqrt(in_features).", func(w *start) {
			in, out := w.int("in_features"), w.int("out_features")
			w.uniform(true, in, out, in)
			w.uniform(w.bool("bias"), in, out)
		}, "weight tensor, bias tensor?", "Outputs, shape (…, out_features), of inputs of shape (…, in_features).", func(a *Args) (*uop.UOp, error) {
			weight, s := a.tensor("weight"), a.X.Shape()
			if in := weight.Shape(); len(in) == 2 && (len(s) == 0 || s[len(s)-1] != in[1]) {
				return nil, bad("x", "shape %s, expected (…, %s)", s, in[1])
			}
			return tensor.Linear(a.X, weight, a.tensor("bias"))
		}),
	layerNorm("LayerNorm", "(x - mean) / sqrt(variance + eps) * weight + bias over the last axes.\nBa, Kiros and Hinton, Layer Normalization, arXiv:1607.06450.", func(a *Args, x *uop.UOp) (*uop.UOp, error) {
		return a.overLast(x)
	}),
	layerNorm("LayerNorm2d", "LayerNorm over the channels of images (N, C, height, width).", func(a *Args, x *uop.UOp) (*uop.UOp, error) {
		if n := len(x.Shape()); n != 4 {
			return nil, bad("x", "shape %s, expected 4 dimensions", x.Shape())
		}
		x, err := tensor.Permute(x, 0, 2, 3, 1)
		if err == nil {
			x, err = a.overLast(x)
		}
		if err != nil {
			return nil, err
		}
		return tensor.Permute(x, 0, 3, 1, 2)
	}),
	layer("RMSNorm", "dim int [0,], eps float = 1e-06 [0,], elementwise_affine bool = true", "weight?",
		"x / sqrt(mean(x^2) + eps) * weight over the last axis.\nZhang and Sennrich, Root Mean Square Layer Normalization, arXiv:1910.07467.", func(w *start) {
			w.scale(w.bool("elementwise_affine"), false, w.int("dim"))
		}, "eps float, weight tensor?", normalised, func(a *Args) (*uop.UOp, error) {
			u, err := tensor.RMSNorm(a.X, a.float("eps"))
			return weightAndBias(u, a.tensor("weight"), nil, err)
		}),
	groupNorm("GroupNorm", "num_groups int [1,], num_channels int [0,]", "num_channels", "The channels of (N, C, …) normalised in groups, then weight and bias per channel.\nWu and He, Group Normalization, arXiv:1803.08494."),
	groupNorm("InstanceNorm", "num_features int [1,]", "num_features", "Each channel of (N, C, …) normalised for each sample, then weight and bias per channel.\nUlyanov, Vedaldi and Lempitsky, Instance Normalization, arXiv:1607.08022."),
	batchNorm(),
	func() Class {
		c := layer("Embedding", "vocab_size int [0,], embed_size int [0,]", "weight",
			"A lookup table with a row of embed_size numbers for each of vocab_size tokens.\nIt is initialised uniform in ±sqrt(6 / (vocab_size + embed_size)) (Glorot and Bengio, 2010).", func(w *start) {
				w.drawn(true, func(s uop.Shape, seed *uop.UOp) (*uop.UOp, error) {
					return tensor.InitSeeded(tensor.InitGlorotUniform, s, 0, uop.Float32, seed)
				}, w.int("vocab_size"), w.int("embed_size"))
			}, "weight tensor", "The rows of tokens idx, shape idx.shape + (embed_size)."+gives0, func(a *Args) (*uop.UOp, error) {
				if !a.X.DType.IsInt() {
					return nil, bad("idx", "is %s, expected an integer type", a.X.DType)
				}
				if err := a.Elements.positions("idx", a.X, a.tensor("weight"), 0, false); err != nil {
					return nil, err
				}
				return tensor.Embedding(a.tensor("weight"), a.X)
			})
		c.Input = "idx"
		return c
	}(),
	func() Class {
		c := layerOf("Dropout", "p float = 0.5 [0,1]", "", "Elements are set to 0 with probability p in training mode (Srivastava et al., 2014).", func(*start) {})
		c.Forward, _ = Find("dropout")
		return c
	}(),
}, convolutions, []Class{lstmCell(), gruCell(), lstm(), gru()})

const normalised = "x normalised, of the same shape."

// layerNorm describes a norm over axes of the sizes normalized_shape.
func layerNorm(name, doc string, forward func(a *Args, x *uop.UOp) (*uop.UOp, error)) Class {
	c := layer(name, "normalized_shape ints [0,], eps float = 1e-05 [0,], elementwise_affine bool = true", "weight? bias?", doc, func(w *start) {
		w.scale(w.bool("elementwise_affine"), true, w.ints("normalized_shape")...)
	}, "normalized_shape ints, eps float, weight tensor?, bias tensor?", normalised, func(a *Args) (*uop.UOp, error) { return forward(a, a.X) })
	if name != "LayerNorm" {
		c.Base = "LayerNorm"
	}
	return c
}

// overLast is the norm of x over its last axes.
func (a *Args) overLast(x *uop.UOp) (*uop.UOp, error) {
	want, s := uop.ShapeOf(a.ints("normalized_shape")...), x.Shape()
	if n := len(s) - len(want); n < 0 || !s[n:].Equal(want) {
		return nil, bad("x", "shape %s, expected (…, %s", s, strings.TrimPrefix(want.String(), "("))
	}
	axes := make([]int, len(want))
	for i := range axes {
		axes[i] = i - len(want)
	}
	u, err := tensor.LayerNorm(x, axes, a.float("eps"))
	return weightAndBias(u, a.tensor("weight"), a.tensor("bias"), err)
}

// channels is an error if axis 1 of x has not the size of a weight of channels; nil stands for a weight that there is not.
func (a *Args) channels(weight *uop.UOp) error {
	if weight == nil || len(weight.Shape()) != 1 {
		return nil
	}
	if s, n := a.X.Shape(), weight.Shape()[0]; len(s) < 2 || s[1] != n {
		return bad("x", "shape %s, expected (N, %s, …)", s, n)
	}
	return nil
}

func groupNorm(name, params, channels, doc string) Class {
	groups := strings.Fields(params)[0]
	c := layer(name, params+", "+affine, "weight? bias?", doc, func(w *start) {
		w.scale(w.bool("affine"), true, w.int(channels))
	}, groups+" int, eps float, weight tensor?, bias tensor?", normalised, func(a *Args) (*uop.UOp, error) {
		if err := a.channels(a.tensor("weight")); err != nil {
			return nil, err
		}
		return tensor.GroupNorm(a.X, a.int(groups), a.tensor("weight"), a.tensor("bias"), a.float("eps"))
	})
	if name != "GroupNorm" {
		c.Base = "GroupNorm"
	}
	return c
}

func batchNorm() Class {
	c := layerOf("BatchNorm", "num_features int [0,], "+affine+", track_running_stats bool = true, momentum float = 0.1 [0,]",
		"weight? bias? num_batches_tracked running_mean? running_var?", `The channels of (N, C, …) normalised over the batch, then weight and bias per channel.
Ioffe and Szegedy, Batch Normalization, arXiv:1502.03167. In training mode it uses the statistics of the batch, and updates the running ones
with the weight momentum; otherwise it uses the running ones.`, func(w *start) {
			n, tracked := w.int("num_features"), w.bool("track_running_stats")
			w.scale(w.bool("affine"), true, n)
			w.add(true, func() (*uop.UOp, error) { return tensor.Full(w.Graph, uop.Shape{}, uop.Int(0), uop.Int64) })
			w.filled(tracked, 0, n)
			w.filled(tracked, 1, n)
		})
	c.Buffers = 3
	op := several("", "BatchNorm.forward", "weight tensor?, bias tensor?, running_mean tensor?, running_var tensor?, num_batches_tracked tensor, eps float, momentum float",
		normalised, (*Args).batchNorm)
	op.Results, op.Moves = 1, c.Buffers
	c.Forward = &op
	return c
}

func (a *Args) batchNorm() (out []*uop.UOp, err error) {
	running := [2]*uop.UOp{a.tensor("running_mean"), a.tensor("running_var")}
	mean, variance := running[0], running[1]
	tracked := mean != nil && variance != nil
	for _, weight := range []*uop.UOp{a.tensor("weight"), mean} {
		if err := a.channels(weight); err != nil {
			return nil, err
		}
	}
	if a.Training || !tracked {
		if mean, variance, err = tensor.BatchStats(a.X); err != nil {
			return nil, err
		}
	}
	y, err := tensor.BatchNormBy(a.X, a.tensor("weight"), a.tensor("bias"), mean, variance, a.float("eps"))
	if err != nil || !a.Moves() {
		return []*uop.UOp{y}, err
	}
	moved, err := tensor.MoveBatchStats(a.X, mean, variance, running[0], running[1], a.tensor("num_batches_tracked"), a.float("momentum"))
	return append([]*uop.UOp{y, mean, variance}, moved...), err
}

const slides = "groups int = 1 [1,], bias bool = true"

// convolution describes a layer of convolution over n axes.
func convolution(name string, n int, axes string) Class {
	c := layer(name, "in_channels int [1,], out_channels int [1,], kernel_size ints [1,], stride ints = 1 [1,], padding ints|text = 0 [0,], dilation ints = 1 [1,], "+slides,
		"weight bias?", "The convolution of (N, in, "+axes+"), plus bias.\nweight has the shape (out, in/groups, kernel…). padding \"same\" keeps sizes. Weights are initialised uniform in ±1/sqrt(in/groups * kernel).", func(w *start) {
			in, out, kernel := w.channels(n)
			if _, err := w.paddings(kernel); err != nil {
				w.err = err
				return
			}
			w.kernel(out, in/w.int("groups"), out, kernel)
		}, "weight tensor, bias tensor?, groups int, stride ints, dilation ints, padding ints|text", "The convolution of x, plus bias.", func(a *Args) (*uop.UOp, error) {
			n, err := a.spatialAxes()
			if err != nil {
				return nil, err
			}
			w := tensor.Window{Stride: a.perAxis("stride", n), Dilation: a.perAxis("dilation", n)}
			kernel, _ := a.tensor("weight").Shape()[2:].Ints()
			if w.Padding, err = a.paddings(kernel); err != nil {
				return nil, err
			}
			return tensor.Conv(a.X, a.tensor("weight"), a.tensor("bias"), a.int("groups"), w)
		})
	if n != 2 {
		c.Base = "Conv2d"
	}
	return c
}

func transposed(name string, n int, axes string) Class {
	c := layer(name, "in_channels int [1,], out_channels int [1,], kernel_size ints [1,], stride ints = 1 [1,], padding ints = 0 [0,], output_padding ints = 0 [0,], dilation ints = 1 [1,], "+slides,
		"weight bias?", "The transposed convolution of (N, in, "+axes+"), plus bias.\nweight has the shape (in, out/groups, kernel…). Weights are initialised uniform in ±1/sqrt(out/groups * kernel).", func(w *start) {
			in, out, kernel := w.channels(n)
			w.kernel(in, out/w.int("groups"), out, kernel)
		}, "weight tensor, bias tensor?, groups int, "+slide+", output_padding ints", "The transposed convolution of x, plus bias.", func(a *Args) (*uop.UOp, error) {
			n, err := a.spatialAxes()
			if err != nil {
				return nil, err
			}
			return tensor.ConvTranspose(a.X, a.tensor("weight"), a.tensor("bias"), a.int("groups"), a.window(n), a.perAxis("output_padding", n))
		})
	c.Base = "Conv2d"
	return c
}

var convolutions = []Class{
	convolution("Conv2d", 2, "height, width"), convolution("Conv1d", 1, "length"), convolution("Conv3d", 3, "depth, height, width"),
	transposed("ConvTranspose2d", 2, "height, width"), transposed("ConvTranspose1d", 1, "length"),
}

// channels are the sizes of a convolution over n axes, checked.
func (w *start) channels(n int) (in, out int64, kernel []int64) {
	for _, name := range []string{"kernel_size", "stride", "dilation"} {
		if list := w.perAxis(name, n); len(list) != n && w.err == nil {
			w.err = bad(name, "%d numbers, expected %s", len(list), []string{"1", "1 or 2", "1 or 3"}[n-1])
		}
	}
	in, out, kernel = w.int("in_channels"), w.int("out_channels"), w.perAxis("kernel_size", n)
	for i, channels := range []int64{in, out} {
		if groups := w.int("groups"); channels%groups != 0 && w.err == nil {
			w.err = bad("groups", "%d, expected a divisor of %s, %d", groups, []string{"in_channels", "out_channels"}[i], channels)
		}
	}
	return in, out, kernel
}

// kernel adds the weights of a convolution.
func (w *start) kernel(first, each, out int64, kernel []int64) {
	fanIn := each
	for _, k := range kernel {
		fanIn *= k
	}
	w.uniform(true, fanIn, append([]int64{first, each}, kernel...)...)
	w.uniform(w.bool("bias"), fanIn, out)
}

// paddings is the argument padding before and after each axis; "same" keeps sizes.
func (a *Args) paddings(kernel []int64) (out [][2]int64, err error) {
	n := len(kernel)
	text, is := a.at("padding").(string)
	switch {
	case !is:
		return a.window(n).Padding, nil
	case strings.ToLower(text) != "same":
		return nil, bad("padding", "%q, expected \"same\" or numbers", text)
	case slices.ContainsFunc(a.ints("stride"), func(s int64) bool { return s != 1 }):
		return nil, bad("padding", "\"same\" with the stride %v, expected a stride of 1", a.ints("stride"))
	}
	for i, d := range a.perAxis("dilation", n) {
		reach := d * (kernel[i] - 1)
		out = append(out, [2]int64{reach / 2, reach - reach/2})
	}
	return out, nil
}

// recurrentCell describes a step of a recurrent layer of so many parts of gates.
func recurrentCell(name string, parts int64, doc, results, states, gives string, step func(a *Args, w tensor.RecurrentWeights, s uop.Shape) ([]*uop.UOp, error)) Class {
	c := layerOf(name, "input_size int [0,], hidden_size int [1,], bias bool = true", "weight_ih weight_hh bias_ih? bias_hh?", doc, func(w *start) {
		n := w.int("hidden_size")
		w.uniform(true, n, parts*n, w.int("input_size"))
		w.uniform(true, n, parts*n, n)
		w.filled(w.bool("bias"), 0, parts*n)
		w.filled(w.bool("bias"), 0, parts*n)
	})
	op := several(results, name+".forward", states+", weight_ih tensor, weight_hh tensor, bias_ih tensor?, bias_hh tensor?", gives, func(a *Args) ([]*uop.UOp, error) {
		w := tensor.RecurrentWeights{Input: a.tensor("weight_ih"), Hidden: a.tensor("weight_hh"), InputBias: a.tensor("bias_ih"), HiddenBias: a.tensor("bias_hh")}
		s, hidden := slices.Clone(a.X.Shape()), w.Hidden.Shape()
		if in := w.Input.Shape(); len(s) == 0 || len(hidden) != 2 || len(in) != 2 || !s[len(s)-1:].Equal(in[1:]) {
			return nil, bad("x", "shape %s, expected (…, %s)", s, in[len(in)-1])
		}
		s[len(s)-1] = hidden[1]
		return step(a, w, s)
	})
	c.Forward = &op
	return c
}

func lstmCell() Class {
	return recurrentCell("LSTMCell", 4, `One step of long short-term memory (Hochreiter and Schmidhuber, 1997).
The quarters i, f, g, o of x @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh give c = sigmoid(f) * c + sigmoid(i) * tanh(g) and
h = sigmoid(o) * tanh(c). weight_ih is (4 * hidden_size, input_size), weight_hh (4 * hidden_size, hidden_size). Weights are initialised uniform in
±1/sqrt(hidden_size), biases at 0.`, "h c", "hc tensors?",
		"h and c, each (…, hidden_size), after an input of shape (…, input_size).\nhc are h and c before the step, zeros unless given.",
		func(a *Args, w tensor.RecurrentWeights, s uop.Shape) ([]*uop.UOp, error) {
			hc, err := a.states(s)
			if err != nil {
				return nil, err
			}
			return pair(tensor.LSTMCell(a.X, hc[0], hc[1], w))
		})
}

func gruCell() Class {
	return recurrentCell("GRUCell", 3, `One step of a gated recurrent unit (Cho et al., arXiv:1406.1078).
The reset gate r acts on the product q3, as in PyTorch. The thirds of p = x @ weight_ih.T + bias_ih and q = h @ weight_hh.T + bias_hh give
r = sigmoid(p1 + q1), z = sigmoid(p2 + q2), n = tanh(p3 + r * q3) and h = (1 - z) * n + z * h. weight_ih is (3 * hidden_size, input_size),
weight_hh (3 * hidden_size, hidden_size). Weights are initialised uniform in ±1/sqrt(hidden_size), biases at 0.`, "h", "h tensor?",
		"h, (…, hidden_size), after an input of shape (…, input_size).\nh is zeros unless given.",
		func(a *Args, w tensor.RecurrentWeights, s uop.Shape) ([]*uop.UOp, error) {
			h, err := a.states(s)
			if err != nil {
				return nil, err
			}
			u, err := tensor.GRUCell(a.X, h[0], w)
			return []*uop.UOp{u}, err
		})
}

// states are the states of a shape before a layer runs: those of the argument h of a GRU, or of hc of an LSTM; zeros if it is not given.
func (a *Args) states(s uop.Shape) (states []*uop.UOp, err error) {
	names := []string{"h", "c"}
	single := slices.ContainsFunc(a.op.Params, func(p Param) bool { return p.Name == "h" })
	switch {
	case single && a.given("h"):
		states, names = []*uop.UOp{a.tensor("h")}, names[:1]
	case !single && a.given("hc"):
		states = get[[]*uop.UOp](a, "hc")
	default:
		zeros, err := tensor.Full(a.X.Graph(), s, uop.Int(0), a.X.DType)
		return []*uop.UOp{zeros, zeros}, err
	}
	if len(states) != len(names) {
		return nil, bad("hc", "%d tensors, expected h and c", len(states))
	}
	for i, state := range states {
		if !state.Shape().Equal(s) {
			return nil, bad(names[i], "shape %s, expected %s", state.Shape(), s)
		}
	}
	return states, nil
}

// sequence describes layers of a cell of so many parts of gates over a sequence.
func sequence(name string, parts int64, doc, results, states, gives string) Class {
	c := layerOf(name, `input_size int [0,], hidden_size int [1,], num_layers int = 1 [1,1000], bias bool = true, batch_first bool = false, dropout float = 0 [0,1], bidirectional bool = false`, "",
		doc+` over a sequence, with PyTorch's names and arguments.
Layer k has weight_ih_l{k}, weight_hh_l{k}, bias_ih_l{k} and bias_hh_l{k}, as in `+name+`Cell; bidirectional layers also have them for the
reverse direction, with the suffix _reverse. dropout acts on the outputs of all layers but the last in training mode. Weights are
initialised uniform in ±1/sqrt(hidden_size).`, func(w *start) {
			n, inputs, ways := w.int("hidden_size"), w.int("input_size"), w.ways()
			for range w.int("num_layers") {
				for range ways {
					w.uniform(true, n, parts*n, inputs)
					w.uniform(true, n, parts*n, n)
					for range 2 {
						if w.bool("bias") {
							w.uniform(true, n, parts*n)
						}
					}
				}
				inputs = n * int64(ways)
			}
		})
	op := several("outputs "+results, name+".forward", "weights tensors, "+states+", hidden_size int, num_layers int [1,1000], batch_first bool, dropout float, bidirectional bool", gives, (*Args).recurrent)
	c.Forward = &op
	return c
}

// IsSequence reports whether a layer runs over a sequence: its weights have names by their layers.
func (c *Class) IsSequence() bool { return c.Name == "LSTM" || c.Name == "GRU" }

func lstm() Class {
	return sequence("LSTM", 4, "Layers of long short-term memory", "h c", "hc tensors?", `The outputs of all steps, and h and c after the last one.
x is (T, N, input_size), or (N, T, input_size) with batch_first, and the outputs have its order, with hidden_size (twice that if
bidirectional) in the last axis. h and c are (num_layers, N, hidden_size), or (2 * num_layers, N, hidden_size) if bidirectional: forwards and
backwards of each layer in turn. hc are the initial h and c, zeros unless given.`)
}

func gru() Class {
	return sequence("GRU", 3, "Layers of gated recurrent units", "h", "h tensor?", `The outputs of all steps, and h after the last one.
x is (T, N, input_size), or (N, T, input_size) with batch_first, and the outputs have its order, with hidden_size (twice that if
bidirectional) in the last axis. h is (num_layers, N, hidden_size), or (2 * num_layers, N, hidden_size) if bidirectional: forwards and
backwards of each layer in turn. The argument h is the initial state, zeros unless given.`)
}

func (a *Args) ways() int {
	if a.bool("bidirectional") {
		return 2
	}
	return 1
}

func (a *Args) recurrent() ([]*uop.UOp, error) {
	x, weights, ways := a.X, get[[]*uop.UOp](a, "weights"), a.ways()
	s := x.Shape()
	if len(s) != 3 {
		return nil, bad("x", "shape %s, expected 3 dimensions", s)
	}
	batch, layers := 1, int(a.int("num_layers"))
	if a.bool("batch_first") {
		batch = 0
	}
	each := len(weights) / (layers * ways) // 2, or 4 with biases
	if len(weights) != layers*ways*each || each != 2 && each != 4 {
		return nil, bad("weights", "%d, expected 2 or 4 for each of %d", len(weights), layers*ways)
	}
	before, err := a.states(uop.Shape{uop.N(int64(layers * ways)), s[batch], uop.N(a.int("hidden_size"))})
	if err != nil {
		return nil, err
	}
	isLSTM := a.op.Name == "LSTM.forward"
	ends := make([][]*uop.UOp, a.op.Results-1)
	for layer := range layers {
		if p := a.float("dropout"); layer > 0 && p != 0 {
			if x, err = a.dropout(x, p); err != nil {
				return nil, err
			}
		}
		outs := make([]*uop.UOp, ways)
		for way := range ways {
			at := layer*ways + way
			own := append(slices.Clone(weights[at*each:(at+1)*each]), nil, nil)
			w := tensor.RecurrentWeights{Input: own[0], Hidden: own[1], InputBias: own[2], HiddenBias: own[3]}
			states := make([]*uop.UOp, len(ends))
			for i := range states {
				if states[i], err = tensor.GetItem(before[i], tensor.At(int64(at))); err != nil {
					return nil, err
				}
			}
			if isLSTM {
				outs[way], states[0], states[1], err = tensor.LSTM(x, states[0], states[1], w, a.bool("batch_first"), way == 1)
			} else {
				outs[way], states[0], err = tensor.GRU(x, states[0], w, a.bool("batch_first"), way == 1)
			}
			if err != nil {
				return nil, err
			}
			for i, s := range states {
				ends[i] = append(ends[i], s)
			}
		}
		if x = outs[0]; ways > 1 {
			if x, err = tensor.Cat(outs, -1); err != nil {
				return nil, err
			}
		}
	}
	results := []*uop.UOp{x}
	for _, s := range ends {
		all, err := tensor.Stack(s, 0)
		if err != nil {
			return nil, err
		}
		results = append(results, all)
	}
	return results, nil
}
