package model

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"polygrad/core/uop"
	"polygrad/model/files"
)

// What was saved computes and learns the same bits as the instance that was saved.
func TestLoadedInstancesGoOn(t *testing.T) {
	for _, c := range familyCases(t) {
		for _, loss := range []string{"mse", "cross_entropy"} {
			m, err := c.make(3, loss)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Free()
			in := feeds(m, 2, loss != "mse")
			if err := m.SetOptimizer(Optimizer{Adam, 0.01, 0.9, 0.999, 1e-8, 0}); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if _, err := m.TrainStep(in); err != nil {
					t.Fatal(err)
				}
			}
			saved, err := m.SaveBundle()
			if err != nil {
				t.Fatal(err)
			}
			loaded, err := FromBundle(device(t), saved)
			if err != nil {
				t.Fatal(c.name, err)
			}
			defer loaded.Free()
			again, err := loaded.SaveBundle()
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(again, saved) {
				t.Errorf("%s: a loaded instance saves other bytes", c.name)
			}
			for step := range 3 {
				a, errA := m.TrainStep(in)
				b, errB := loaded.TrainStep(in)
				if errA != nil || errB != nil || a != b || !slices.Equal(m.flat, loaded.flat) {
					t.Fatalf("%s %s: step %d after loading: loss %v (%v), without: %v (%v)", c.name, loss, step, b, errB, a, errA)
				}
			}
			if err := m.Forward(in); err != nil {
				t.Fatal(err)
			}
			if err := loaded.Forward(in); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(m.Buffer("output").Data, loaded.Buffer("output").Data) {
				t.Errorf("%s: outputs differ in bits", c.name)
			}
		}
	}
}

// The original's losses reduce an axis twice and use the target as it lies in memory: they mean the mean.
func TestLossesOfTheOriginal(t *testing.T) {
	for _, f := range fixtures {
		bundle, want := f.read(t)
		m, err := FromBundle(device(t), bundle)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Free()
		y := m.Buffer("y")
		if y == nil {
			continue
		}
		in := feeds(m, 4, false)
		in[0].Data = want.X
		expected := lossByHand("mse", want.Output, in[1].Data, len(want.Output))
		if err := m.SetOptimizer(Optimizer{Adam, 0.01, 0.9, 0.999, 1e-8, 0}); err != nil {
			t.Fatal(err)
		}
		got, err := m.TrainStep(in)
		if err != nil {
			t.Fatal(f.name, err)
		}
		if math.Abs(float64(got)-expected) > 1e-5*expected {
			t.Errorf("%s: loss %v, expected %v", f.name, got, expected)
		}
		for range 50 {
			if got, err = m.TrainStep(in); err != nil {
				t.Fatal(err)
			}
		}
		if !(float64(got) < 0.7*expected) {
			t.Errorf("%s: 50 steps bring the loss from %v to %v only", f.name, expected, got)
		}
	}
}

func TestImportWeights(t *testing.T) {
	m, err := NewMLP(device(t), []byte(`{"layers":[2,3]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Free()
	encode := func(ts ...*files.Tensor) []byte {
		b, err := files.EncodeSafetensors(ts, nil)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	weight := &files.Tensor{Name: "layers.0.weight", DType: uop.Float32, Shape: []int64{3, 2}, Data: floatsToBytes([]float32{1, 2, 3, 4, 5, 6})}
	bias := &files.Tensor{Name: "layers.0.bias", DType: uop.Float32, Shape: []int64{3}, Data: floatsToBytes([]float32{7, 8, 9})}
	if err := m.ImportWeights(encode(weight, bias), true); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(m.Buffer("layers.0.weight").Data, []float32{1, 2, 3, 4, 5, 6}) || m.Buffer("layers.0.bias").Data[2] != 9 {
		t.Error("the weights are not those of the file")
	}
	bias.Data = floatsToBytes([]float32{0, 0, 0})
	unknown := &files.Tensor{Name: "other", DType: uop.Float32, Shape: []int64{1}, Data: floatsToBytes([]float32{1})}
	short := &files.Tensor{Name: "layers.0.weight", DType: uop.Float32, Shape: []int64{2}, Data: floatsToBytes([]float32{0, 0})}
	for what, file := range map[string][]byte{"unknown": encode(weight, bias, unknown), "expected [3 2]": encode(short, bias), "missing": encode(bias)} {
		copy(m.Buffer("layers.0.bias").Data, []float32{7, 8, 9})
		if err := m.ImportWeights(file, true); err == nil || m.Buffer("layers.0.bias").Data[2] != 9 {
			t.Errorf("%s: accepted strictly, or changed: %v", what, err)
		}
		if err := m.ImportWeights(file, false); err != nil || m.Buffer("layers.0.bias").Data[2] != 0 || m.Buffer("layers.0.weight").Data[5] != 6 {
			t.Errorf("%s: not read: %v", what, err)
		}
		if n := m.Notes(); len(n) != 1 || !strings.Contains(n[0], what) && !strings.Contains(n[0], "no such") {
			t.Errorf("%s: notes %q", what, n)
		}
	}
	half := &files.Tensor{Name: "layers.0.bias", DType: uop.Float16, Shape: []int64{3}, Data: make([]byte, 6)}
	for what, file := range map[string][]byte{"F16": encode(weight, half), "nothing": nil, "cut": encode(weight)[:40], "text": []byte("\x04\x00\x00\x00\x00\x00\x00\x00{]} ")} {
		if err := m.ImportWeights(file, false); err == nil {
			t.Errorf("%s: accepted", what)
		}
	}
}

// Files that were cut or changed anywhere are refused or read, never a crash.
func TestDamagedFiles(t *testing.T) {
	for _, f := range fixtures[:3] {
		bundle, _ := f.read(t)
		for n := range bundle {
			if m, err := FromBundle(device(t), bundle[:n]); err == nil {
				m.Free()
				t.Fatalf("%s: the first %d of %d bytes are accepted", f.name, n, len(bundle))
			}
		}
		refused := 0
		for i := range bundle {
			bad := bytes.Clone(bundle)
			bad[i] ^= 1 << (i % 8)
			m, err := FromBundle(device(t), bad)
			if err != nil {
				refused++
				continue
			}
			m.Free()
		}
		if refused < 100 {
			t.Errorf("%s: only %d of %d changed bytes are noticed", f.name, refused, len(bundle))
		}
	}
}

// Sections that the package does not know survive.
func TestUnknownSections(t *testing.T) {
	bundle, _ := fixtures[0].read(t)
	sections, _, err := DecodeBundle(bundle)
	if err != nil {
		t.Fatal(err)
	}
	want, err := EncodeBundle(append(sections, Section{SectionMetadata, []byte(`{"a":1}`)}, Section{99, []byte("?")}))
	if err != nil {
		t.Fatal(err)
	}
	m, err := FromBundle(device(t), want)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Free()
	got, err := m.SaveBundle()
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("the sections are not those that were read (%v)", err)
	}
}

func TestBadConfigurations(t *testing.T) {
	e := device(t)
	for _, text := range []string{``, `[]`, `{`, `{"layers":[4]}`, `{}`, `{"layers":"x"}`, `{"layers":[4,0]}`, `{"layers":[4,-1]}`,
		`{"layers":[2,2]} x`, `{"layers":[2000000000,2000000000]}`, `{"layers":[1,null]}`} {
		if m, err := NewMLP(e, []byte(text)); err == nil {
			m.Free()
			t.Errorf("NewMLP accepts %s", text)
		}
		if m, err := NewTabM(e, []byte(text)); err == nil {
			m.Free()
			t.Errorf("NewTabM accepts %s", text)
		}
		if m, err := NewNAM(e, []byte(text)); err == nil {
			m.Free()
			t.Errorf("NewNAM accepts %s", text)
		}
	}
	for text, want := range map[string]string{
		`{"layers":[4,2],"activation":"swish"}`:            `activation: "swish", expected one of relu, gelu, silu, tanh, sigmoid, none`,
		`{"layers":[4,2],"loss":"mae"}`:                    `loss: "mae", expected one of none, mse, cross_entropy`,
		`{"layers":[4,2],"n_ensemble":3}`:                  `n_ensemble: unknown, expected activation, batch_size, bias, layers, loss, seed`,
		`{"layers":[4,2],"batchSize":3,"activation":null}`: `batchsize: unknown`,
	} {
		if m, err := NewMLP(e, []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			m.Free()
			t.Errorf("NewMLP of %s: %v, expected %s", text, err, want)
		}
	}
	// Keys in any case, numbers as C reads them, values of odd types as the defaults.
	m, err := NewMLP(e, []byte(`{"LAYERS":[2.9,3],"Activation":3,"bias":1,"batch_size":-3,"loss":7}`))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Free()
	if len(m.Params()) != 1 || !slices.Equal(m.Params()[0].Shape, []int64{3, 2}) || len(m.Entries()) != 1 {
		t.Errorf("parameters %v, entries %v", m.Params(), m.Entries())
	}
}

// After Free everything is an error.
func TestFreed(t *testing.T) {
	m, err := NewMLP(device(t), []byte(`{"layers":[2,3],"loss":"mse"}`))
	if err != nil {
		t.Fatal(err)
	}
	m.Free()
	m.Free()
	_, errIR := m.ExportIR()
	_, errWeights := m.ExportWeights()
	_, errBundle := m.SaveBundle()
	_, errTrain := m.TrainStep(nil)
	_, errGrad := m.ValueAndGrad(EntryLoss, nil)
	for i, err := range []error{errIR, errWeights, errBundle, errTrain, errGrad, m.Forward(nil), m.SetOptimizer(Optimizer{Kind: SGD}),
		m.SetExecutor(device(t)), m.ImportWeights(nil, false)} {
		if err == nil {
			t.Errorf("call %d succeeds after Free", i)
		}
	}
}
