package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// feeds are random inputs for an instance; targets of a cross entropy are probabilities.
func feeds(m *Instance, seed uint64, probabilities bool) []Feed {
	r := rand.New(rand.NewPCG(seed, 1))
	var out []Feed
	for _, b := range m.Buffers() {
		if b.Role != Input && b.Role != Target {
			continue
		}
		data := make([]float32, len(b.Data))
		for i := range data {
			data[i] = float32(r.NormFloat64())
		}
		if b.Role == Target && probabilities {
			width := int(b.Shape[1])
			for row := range slices.Chunk(data, width) {
				clear(row)
				row[r.IntN(width)] = 1
			}
		}
		out = append(out, Feed{b.Name, data})
	}
	return out
}

// lossByHand is the loss of outputs and targets in float64.
func lossByHand(kind string, out, y []float32, width int) float64 {
	sum := 0.0
	if kind == "mse" {
		for i := range out {
			d := float64(out[i]) - float64(y[i])
			sum += d * d
		}
		return sum / float64(len(out))
	}
	rows := len(out) / width
	for r := range rows {
		total := 0.0
		for _, v := range out[r*width : (r+1)*width] {
			total += math.Exp(float64(v))
		}
		for i := r * width; i < (r+1)*width; i++ {
			sum -= float64(y[i]) * (float64(out[i]) - math.Log(total))
		}
	}
	return sum / float64(rows)
}

type familyCase struct {
	name string
	make func(batch int, loss string) (*Instance, error)
	out  int
}

func familyCases(t *testing.T) []familyCase {
	e := device(t)
	var cases []familyCase
	for _, out := range []int{1, 3} {
		for _, act := range []string{"relu", "gelu", "silu", "tanh", "sigmoid", "none"} {
			cases = append(cases, familyCase{"mlp " + act, func(batch int, loss string) (*Instance, error) {
				return NewMLP(e, fmt.Appendf(nil, `{"layers":[3,5,%d],"activation":%q,"batch_size":%d,"loss":%q}`, out, act, batch, loss))
			}, out})
		}
		cases = append(cases, familyCase{"tabm", func(batch int, loss string) (*Instance, error) {
			return NewTabM(e, fmt.Appendf(nil, `{"layers":[3,5,%d],"n_ensemble":4,"activation":"silu","batch_size":%d,"loss":%q}`, out, batch, loss))
		}, out})
		for _, act := range []string{"exu", "relu", "gelu"} {
			cases = append(cases, familyCase{"nam " + act, func(batch int, loss string) (*Instance, error) {
				return NewNAM(e, fmt.Appendf(nil, `{"n_features":3,"hidden_sizes":[4,3],"activation":%q,"n_outputs":%d,"batch_size":%d,"loss":%q}`, act, out, batch, loss))
			}, out})
		}
	}
	return cases
}

// The losses are right at every batch size and number of outputs, and gradients agree with finite differences.
func TestLossesAndGradients(t *testing.T) {
	for _, c := range familyCases(t) {
		for _, batch := range []int{1, 2, 5} {
			for _, loss := range []string{"mse", "cross_entropy"} {
				t.Run(fmt.Sprintf("%s/%d outputs/batch %d/%s", c.name, c.out, batch, loss), func(t *testing.T) {
					m, err := c.make(batch, loss)
					if err != nil {
						t.Fatal(err)
					}
					defer m.Free()
					perturb(m)
					in := feeds(m, 7, loss != "mse")
					if err := m.Forward(in[:1]); err != nil {
						t.Fatal(err)
					}
					want := lossByHand(loss, m.Buffer("output").Data, in[1].Data, c.out)
					got, err := m.ValueAndGrad(EntryLoss, in)
					if err != nil {
						t.Fatal(err)
					}
					if math.Abs(float64(got)-want) > 1e-5*math.Max(1, want) || m.Buffer("loss").Data[0] != got {
						t.Errorf("loss %v (buffer %v), expected %v", got, m.Buffer("loss").Data[0], want)
					}
					if err := m.Call(EntryLoss, nil); err != nil || !close32(m.Buffer("loss").Data[0], got) {
						t.Errorf("entry loss gives %v (%v), expected %v", m.Buffer("loss").Data[0], err, got)
					}
					if batch == 2 {
						checkGradients(t, m)
					}
				})
			}
		}
	}
}

// close32 allows for sums in another order.
func close32(a, b float32) bool {
	return math.Abs(float64(a-b)) <= 1e-6*math.Max(1, math.Abs(float64(b)))
}

// perturb moves parameters that begin with zeros away from the kinks of activations.
func perturb(m *Instance) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, p := range m.Params() {
		for i := range p.Data {
			p.Data[i] += float32(0.3 * r.NormFloat64())
		}
	}
}

// checkGradients compares with finite differences along a random direction for each parameter, which float32
// resolves well. Where two step sizes disagree, a kink of an activation lies between.
func checkGradients(t *testing.T, m *Instance) {
	t.Helper()
	checkGradientsOf(t, m, EntryLoss)
}

// checkGradientsOf does so for an entry point that stores one number in the buffer of its name.
func checkGradientsOf(t *testing.T, m *Instance, entry string) {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 6))
	grads := map[string][]float32{}
	for _, p := range m.Params() {
		grads[p.Name] = slices.Clone(p.Grad)
	}
	smooth := 0
	for _, p := range m.Params() {
		start := slices.Clone(p.Data)
		dir := make([]float64, len(start))
		want := 0.0
		for i := range dir {
			dir[i] = r.NormFloat64()
			want += dir[i] * float64(grads[p.Name][i])
		}
		at := func(s float64) float64 {
			for i := range start {
				p.Data[i] = start[i] + float32(s*dir[i])
			}
			if err := m.Call(entry, nil); err != nil {
				t.Fatal(err)
			}
			return float64(m.Buffer(entry).Data[0])
		}
		slope := func(h float64) float64 { return (8*(at(h)-at(-h)) - (at(2*h) - at(-2*h))) / (12 * h) }
		wide, got := slope(2e-3), slope(1e-3)
		copy(p.Data, start)
		allowed := 3e-3 * math.Max(1, math.Abs(want))
		if math.Abs(wide-got) > allowed/2 {
			continue
		}
		smooth++
		if math.Abs(got-want) > allowed {
			t.Errorf("%s: derivative %v along a direction, finite differences give %v", p.Name, want, got)
		}
	}
	if smooth*3 < len(m.Params())*2 {
		t.Errorf("only %d of %d parameters could be checked", smooth, len(m.Params()))
	}
}

// Every optimizer follows its formula.
func TestOptimizers(t *testing.T) {
	e := device(t)
	for _, kind := range []OptimizerKind{SGD, Adam, AdamW} {
		for _, batch := range []int{1, 4} {
			m, err := NewMLP(e, fmt.Appendf(nil, `{"layers":[3,7,2],"activation":"tanh","loss":"mse","batch_size":%d}`, batch))
			if err != nil {
				t.Fatal(err)
			}
			defer m.Free()
			o := Optimizer{kind, 0.05, 0.8, 0.95, 1e-6, 0.1}
			if err := m.SetOptimizer(o); err != nil {
				t.Fatal(err)
			}
			states := map[string][3][]float64{}
			for _, p := range m.Params() {
				s := [3][]float64{make([]float64, len(p.Data)), make([]float64, len(p.Data)), make([]float64, len(p.Data))}
				for i, v := range p.Data {
					s[0][i] = float64(v)
				}
				states[p.Name] = s
			}
			for step := 1; step <= 6; step++ {
				in := feeds(m, uint64(step), false)
				if err := m.Call(EntryLoss, in); err != nil {
					t.Fatal(err)
				}
				before := m.Buffer("loss").Data[0]
				got, err := m.TrainStep(in)
				if err != nil {
					t.Fatal(err)
				}
				if !close32(got, before) {
					t.Errorf("train step gives the loss %v, expected %v, that before the step", got, before)
				}
				for _, p := range m.Params() {
					byHand(o, step, states[p.Name], p.Grad)
					for i, v := range p.Data {
						if w := states[p.Name][0][i]; math.Abs(float64(v)-w) > 2e-6*math.Max(1, math.Abs(w)) {
							t.Errorf("kind %d, batch %d, step %d: %s[%d] is %v, expected %v", kind, batch, step, p.Name, i, v, w)
						}
					}
				}
			}
		}
	}
}

// byHand does one step of an optimizer on a parameter and its two moments.
func byHand(o Optimizer, t int, s [3][]float64, grad []float32) {
	lr, b1, b2 := float64(o.LR), float64(o.Beta1), float64(o.Beta2)
	for i := range grad {
		g := float64(grad[i])
		if o.Kind == SGD {
			s[0][i] -= lr * g
			continue
		}
		s[1][i] = b1*s[1][i] + (1-b1)*g
		s[2][i] = b2*s[2][i] + (1-b2)*g*g
		if o.Kind == AdamW {
			s[0][i] *= 1 - lr*float64(o.WeightDecay)
		}
		mean, square := s[1][i]/(1-math.Pow(b1, float64(t))), s[2][i]/(1-math.Pow(b2, float64(t)))
		s[0][i] -= lr * mean / (math.Sqrt(square) + float64(o.Eps))
	}
}

// Setting an optimizer again begins anew.
func TestSetOptimizerResets(t *testing.T) {
	m, err := NewMLP(device(t), []byte(`{"layers":[2,3,1],"loss":"mse"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Free()
	start := slices.Clone(m.Params()[0].Data)
	in := feeds(m, 1, false)
	var first []float32
	for range 2 {
		copy(m.Params()[0].Data, start)
		for _, p := range m.Params()[1:] {
			clear(p.Data)
		}
		if err := m.SetOptimizer(Optimizer{Kind: Adam, LR: 0.1, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := m.TrainStep(in); err != nil {
				t.Fatal(err)
			}
		}
		if first == nil {
			first = slices.Clone(m.flat)
		} else if !slices.Equal(first, m.flat) {
			t.Error("training after setting the optimizer again goes another way")
		}
	}
	if err := m.SetOptimizer(Optimizer{Kind: 4}); err == nil {
		t.Error("optimizer 4 is accepted")
	}
	if err := m.SetOptimizer(Optimizer{}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.TrainStep(in); err == nil {
		t.Error("a train step without an optimizer succeeds")
	}
}
