package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// originalMLP is the graph of testdata/mlp_4_8_3.bundle as the original would write it for other sizes: the loss adds
// the target as it lies in memory to the two-dimensional output, and reduces axis 0 twice.
func originalMLP(t *testing.T, batch, outputs int64) []byte {
	t.Helper()
	bundle, _ := fixtures[0].read(t)
	sections, _, err := DecodeBundle(bundle)
	if err != nil {
		t.Fatal(err)
	}
	f, err := decodeIR(section(sections, SectionIR))
	if err != nil {
		t.Fatal(err)
	}
	for at, n := range map[int]int64{1: batch * outputs, 4: 4 * batch, 27: 8 * outputs, 37: outputs, 46: batch * outputs} {
		f.nodes[at].arg.num = n
	}
	for at, shape := range map[int][]int64{
		5: {batch, 1, 4}, 6: {batch, 8, 4}, 13: {batch, 8, 4}, 16: {batch, 8}, 20: {batch, 8}, 24: {batch, 1, 8}, 25: {batch, outputs, 8},
		28: {outputs, 8}, 30: {1, 8, outputs}, 32: {batch, outputs, 8}, 35: {batch, outputs}, 38: {1, outputs}, 39: {batch, outputs},
	} {
		f.nodes[at].arg.nums = shape
	}
	f.nodes[52].arg.float = 1 / float64(batch*outputs)
	shapes := map[string][]int64{
		"x": {batch, 4}, "output": {batch, outputs}, "y": {batch, outputs}, "layers.1.weight": {outputs, 8}, "layers.1.bias": {outputs},
	}
	for i, v := range f.variables {
		if s := shapes[f.strings[v.name]]; s != nil {
			f.variables[i].shape = s
		}
	}
	ir, err := f.encode()
	if err != nil {
		t.Fatal(err)
	}
	return ir
}

func TestLossesOfTheOriginalAtAnyBatch(t *testing.T) {
	for _, batch := range []int64{1, 2, 4} {
		for _, outputs := range []int64{1, 3} {
			t.Run(fmt.Sprintf("batch %d, %d outputs", batch, outputs), func(t *testing.T) {
				m, err := FromIR(device(t), originalMLP(t, batch, outputs), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer m.Free()
				r := rand.New(rand.NewPCG(1, 2))
				for _, p := range m.Params() {
					for i := range p.Data {
						p.Data[i] = float32(r.NormFloat64())
					}
				}
				in := feeds(m, 3, false)
				if err := m.Forward(in); err != nil {
					t.Fatal(err)
				}
				want := lossByHand("mse", m.Buffer("output").Data, in[1].Data, int(outputs))
				got, err := m.ValueAndGrad(EntryLoss, in)
				if err != nil {
					t.Fatal(err)
				}
				if math.Abs(float64(got)-want) > 1e-5*math.Max(1, want) {
					t.Errorf("loss %v, expected %v", got, want)
				}
				checkGradients(t, m)
			})
		}
	}
}

// A NaN of the input reaches the output, whatever the activation.
func TestNaNReachesTheOutput(t *testing.T) {
	for _, c := range familyCases(t) {
		m, err := c.make(2, "none")
		if err != nil {
			t.Fatal(err)
		}
		defer m.Free()
		x := feeds(m, 1, false)[0]
		x.Data[0] = float32(math.NaN())
		if err := m.Forward([]Feed{x}); err != nil {
			t.Fatal(err)
		}
		out := m.Buffer("output").Data
		for i, v := range out {
			if nan := v != v; nan != (i < len(out)/2) {
				t.Errorf("%s: output %d of %d is %v", c.name, i, len(out), v)
			}
		}
	}
}
