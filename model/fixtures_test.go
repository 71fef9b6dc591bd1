package model

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"polygrad/exec"
)

// The files in testdata were written by the original library; the JSON beside each holds an input, the output
// that it gave, and the beginning of every parameter.

var executor = sync.OnceValues(func() (*exec.Executor, error) { return exec.Open("") })

func device(t testing.TB) *exec.Executor {
	t.Helper()
	e, err := executor()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

type fixture struct {
	name string
	make func(e *exec.Executor, json []byte) (*Instance, error)
	json string
}

var fixtures = []fixture{
	{"mlp_4_8_3", NewMLP, `{"layers":[4,8,3],"activation":"relu","bias":true,"loss":"mse","batch_size":1,"seed":42}`},
	{"mlp_gelu_b3", NewMLP, `{"layers":[5,7,7,2],"activation":"gelu","bias":false,"loss":"none","batch_size":3,"seed":7}`},
	{"tabm_4_8_1", NewTabM, `{"layers":[4,8,1],"n_ensemble":4,"activation":"relu","loss":"mse","batch_size":1,"seed":3}`},
	{"nam_3", NewNAM, `{"n_features":3,"hidden_sizes":[8,4],"activation":"exu","n_outputs":1,"loss":"mse","batch_size":1,"seed":5}`},
}

type recorded struct {
	X      []float32 `json:"x"`
	Output []float32 `json:"output"`
	Params map[string]struct {
		Shape []int64   `json:"shape"`
		First []float32 `json:"first"`
		Sum   float64   `json:"sum"`
	} `json:"params"`
}

func (f fixture) read(t *testing.T) (bundle []byte, want recorded) {
	t.Helper()
	bundle, err := os.ReadFile(filepath.Join("testdata", f.name+".bundle"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join("testdata", f.name+".json"))
	if err == nil {
		err = json.Unmarshal(text, &want)
	}
	if err != nil {
		t.Fatal(err)
	}
	return bundle, want
}

func TestBundlesOfTheOriginal(t *testing.T) {
	for _, f := range fixtures {
		t.Run(f.name, func(t *testing.T) {
			bundle, want := f.read(t)
			m, err := FromBundle(device(t), bundle)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Free()
			f.check(t, m, want)
			again, err := m.SaveBundle()
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(again, bundle) {
				t.Errorf("saving what was loaded gives %d other bytes, expected the same %d", len(again), len(bundle))
			}
		})
	}
}

func TestFamiliesStartAsTheOriginal(t *testing.T) {
	for _, f := range fixtures {
		t.Run(f.name, func(t *testing.T) {
			bundle, want := f.read(t)
			m, err := f.make(device(t), []byte(f.json))
			if err != nil {
				t.Fatal(err)
			}
			defer m.Free()
			f.check(t, m, want)
			sections, _, err := DecodeBundle(bundle)
			if err != nil {
				t.Fatal(err)
			}
			weights, err := m.ExportWeights()
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(weights, section(sections, SectionWeights)) {
				t.Error("the parameters differ from those of the original")
			}
			old, err := FromBundle(device(t), bundle)
			if err != nil {
				t.Fatal(err)
			}
			defer old.Free()
			for i, b := range old.Buffers() {
				if got := m.Buffers()[i]; got.Name != b.Name || got.Role != b.Role || !slices.Equal(got.Shape, b.Shape) {
					t.Errorf("buffer %d is %s %s %v, expected %s %s %v", i, got.Role, got.Name, got.Shape, b.Role, b.Name, b.Shape)
				}
			}
		})
	}
}

func (f fixture) check(t *testing.T, m *Instance, want recorded) {
	t.Helper()
	if err := m.Forward([]Feed{{"x", want.X}}); err != nil {
		t.Fatal(err)
	}
	out := m.Buffer("output").Data
	if len(out) != len(want.Output) {
		t.Fatalf("%d outputs, expected %d", len(out), len(want.Output))
	}
	for i, v := range want.Output {
		if d := math.Abs(float64(out[i] - v)); !(d <= 1e-6*math.Max(1, math.Abs(float64(v)))) {
			t.Errorf("output %d is %v, expected %v", i, out[i], v)
		}
	}
	if len(m.Params()) != len(want.Params) {
		t.Errorf("%d parameters, expected %d", len(m.Params()), len(want.Params))
	}
	for _, p := range m.Params() {
		w, ok := want.Params[p.Name]
		if !ok {
			t.Errorf("parameter %q is not expected", p.Name)
			continue
		}
		for i, v := range w.First {
			if p.Data[i] != v {
				t.Errorf("%s[%d] is %v, expected %v", p.Name, i, p.Data[i], v)
			}
		}
		sum := 0.0
		for _, v := range p.Data {
			sum += float64(v)
		}
		if math.Abs(sum-w.Sum) > 1e-6 {
			t.Errorf("the sum of %s is %v, expected %v", p.Name, sum, w.Sum)
		}
	}
}
