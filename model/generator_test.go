package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"polygrad/core/uop"
	"polygrad/exec"
	"polygrad/model/files"
)

// tinyModels are configurations of each family of language models.
var tinyModels = map[string]string{
	"gpt2":    `{"model_type":"gpt2","vocab_size":31,"n_embd":24,"n_head":3,"n_layer":2,"n_positions":40}`,
	"llama":   `{"model_type":"llama","vocab_size":31,"hidden_size":24,"intermediate_size":40,"num_hidden_layers":2,"num_attention_heads":6,"num_key_value_heads":2,"max_position_embeddings":40,"rope_scaling":{"rope_type":"llama3","factor":8,"low_freq_factor":1,"high_freq_factor":4,"original_max_position_embeddings":16}}`,
	"mistral": `{"model_type":"mistral","vocab_size":31,"hidden_size":16,"intermediate_size":24,"num_hidden_layers":1,"num_attention_heads":2,"num_key_value_heads":2,"head_dim":6,"max_position_embeddings":40,"sliding_window":5}`,
	"qwen2":   `{"model_type":"qwen2","vocab_size":31,"hidden_size":16,"intermediate_size":24,"num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":1,"max_position_embeddings":40,"tie_word_embeddings":true}`,
	"qwen3":   `{"model_type":"qwen3","vocab_size":31,"hidden_size":16,"intermediate_size":24,"num_hidden_layers":1,"num_attention_heads":2,"num_key_value_heads":1,"head_dim":4,"max_position_embeddings":40}`,
}

// tinyModel is a model of random weights, kept in a type, and one of the same weights in float32.
func tinyModel(t *testing.T, e *exec.Executor, config, weights string, batch int64) (m, plain *Instance) {
	t.Helper()
	empty, err := LoadHF(e, []byte(config), nil, HFOptions{Batch: batch, Partial: true})
	if err != nil {
		t.Fatal(err)
	}
	defer empty.Free()
	var list []*files.Tensor
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for _, p := range empty.Params() {
			if !yield(p.Name) {
				return
			}
		}
	}) {
		p := empty.Buffer(name)
		r := rand.New(rand.NewPCG(uint64(len(list)), 7))
		w := make([]float32, len(p.Data))
		for i := range w {
			w[i] = float32(0.4 * r.NormFloat64())
			if len(p.Shape) == 1 && strings.HasSuffix(name, "weight") {
				w[i]++
			}
		}
		list = append(list, &files.Tensor{Name: name, DType: uop.Float32, Shape: p.Shape, Data: floatsToBytes(w)})
	}
	file, err := files.EncodeSafetensors(list, nil)
	if err != nil {
		t.Fatal(err)
	}
	load := func(weights string) *Instance {
		m, err := LoadHF(e, []byte(config), [][]byte{file}, HFOptions{Batch: batch, Weights: weights})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.Free)
		if n := m.Notes(); len(n) > 0 {
			t.Fatalf("notes: %q", n)
		}
		return m
	}
	return load(weights), load("")
}

// lastLogits are those of the entry point forward after a text.
func lastLogits(t *testing.T, m *Instance, text []int32) []float32 {
	t.Helper()
	x := make([]float32, len(m.Buffer("x").Data))
	for i, v := range text {
		x[i] = float32(v)
	}
	if err := m.Forward([]Feed{{"x", x}}); err != nil {
		t.Fatal(err)
	}
	return m.Buffer("output").Data[(len(text)-1)*31 : len(text)*31]
}

func sameLogits(t *testing.T, what string, got, want []float32, tolerance float64) {
	t.Helper()
	for i := range want {
		if !(math.Abs(float64(got[i]-want[i])) <= tolerance*max(1, math.Abs(float64(want[i])))) {
			t.Fatalf("%s: logit %d is %v, expected %v", what, i, got[i], want[i])
		}
	}
}

// A text that is fed in pieces of any size has the logits of the whole text at once, in rows of different lengths, and
// beyond the room of the model those of its last tokens.
func TestGeneratorFollowsForward(t *testing.T) {
	e := device(t)
	for name, config := range tinyModels {
		t.Run(name, func(t *testing.T) {
			m, _ := tinyModel(t, e, config, "", 1)
			g, err := m.NewGenerator(2)
			if err != nil {
				t.Fatal(err)
			}
			defer g.Free()
			if g.Rows() != 2 || g.Vocab() != 31 || g.Room() != 40 {
				t.Fatalf("rows %d, vocabulary %d, room %d", g.Rows(), g.Vocab(), g.Room())
			}
			r := rand.New(rand.NewPCG(3, 3))
			for _, pieces := range [][]int{{1, 1, 1}, {7, 1, 16, 2}, {24, 1}, {39, 1, 1, 3}, {45, 1}} {
				if err := g.Reset(); err != nil {
					t.Fatal(err)
				}
				var texts [2][]int32
				for k, n := range pieces {
					tokens := make([][]int32, 2)
					for row := range tokens {
						more := n
						if k == 0 && row == 1 {
							more += 3 // rows of different lengths
						}
						for range more {
							tokens[row] = append(tokens[row], int32(r.IntN(31)))
						}
						texts[row] = append(texts[row], tokens[row]...)
					}
					if err := g.Feed(tokens); err != nil {
						t.Fatal(err)
					}
					logits, err := g.Logits()
					if err != nil {
						t.Fatal(err)
					}
					for row, text := range texts {
						text = text[max(0, len(text)-40):]
						sameLogits(t, fmt.Sprintf("pieces %v, %d of them, row %d", pieces, k+1, row), logits[row*31:][:31], lastLogits(t, m, text), 2e-5)
					}
				}
			}
		})
	}
}

// Matrices in other types give nearly the same logits, in both entry points, and cannot be trained or saved.
func TestStoredWeights(t *testing.T) {
	e := device(t)
	for _, c := range []struct {
		weights   string
		tolerance float64
	}{{"float16", 4e-3}, {"bfloat16", 3e-2}, {"int8", 8e-2}} {
		for _, name := range []string{"gpt2", "llama"} {
			m, plain := tinyModel(t, e, tinyModels[name], c.weights, 1)
			text := []int32{3, 1, 4, 1, 5, 9, 2, 6}
			want := slices.Clone(lastLogits(t, plain, text))
			got := slices.Clone(lastLogits(t, m, text))
			most := 0.0
			for _, v := range want {
				most = max(most, math.Abs(float64(v)))
			}
			for i := range want {
				if d := math.Abs(float64(got[i] - want[i])); d > c.tolerance*most {
					t.Errorf("%s, %s: logit %d is %v, expected %v", name, c.weights, i, got[i], want[i])
				}
			}
			if slices.Equal(got, want) {
				t.Errorf("%s, %s: no number differs from those of float32", name, c.weights)
			}
			g, err := m.NewGenerator(1)
			if err != nil {
				t.Fatal(err)
			}
			defer g.Free()
			if err := g.Feed([][]int32{text}); err != nil {
				t.Fatal(err)
			}
			logits, err := g.Logits()
			if err != nil {
				t.Fatal(err)
			}
			sameLogits(t, name+" "+c.weights, logits, got, 1e-4)
			for what, f := range map[string]func() error{
				"training": func() error { _, err := m.ValueAndGrad(EntryLoss, nil); return err },
				"weights":  func() error { _, err := m.ExportWeights(); return err },
				"bundle":   func() error { _, err := m.SaveBundle(); return err },
				"import":   func() error { return m.ImportWeights([]byte{}, true) },
			} {
				if err := f(); err == nil || !strings.Contains(err.Error(), "float32") && what != "import" {
					t.Errorf("%s of %s: error %v", what, c.weights, err)
				}
			}
		}
	}
}

// Rounding to int8 changes no weight by more than half of its row's factor.
func TestQuantize(t *testing.T) {
	rows := []float32{1, -127, 0.25, 0, 0, 0, 3e-3, -1e-3, 2e-3}
	for _, perColumn := range []bool{false, true} {
		s := &stored{dtype: storages["int8"], shape: []int64{3, 3}, data: make([]byte, 9), perColumn: perColumn}
		scale := &stored{shape: []int64{3}, data: make([]byte, 12)}
		tensor := files.Tensor{Name: "w", DType: uop.Float32, Shape: []int64{3, 3}, Data: floatsToBytes(rows)}
		if err := s.load(&tensor, scale); err != nil {
			t.Fatal(err)
		}
		factors := make([]float32, 3)
		f := files.Tensor{Name: "s", DType: uop.Float32, Shape: []int64{3}, Data: scale.data}
		if err := f.Floats(factors); err != nil {
			t.Fatal(err)
		}
		for i, w := range rows {
			factor := factors[i/3]
			if perColumn {
				factor = factors[i%3]
			}
			if got := float32(int8(s.data[i])) * factor; math.Abs(float64(got-w)) > float64(factor)/2*1.00001 {
				t.Errorf("per column %t: weight %d is %v, expected %v within %v", perColumn, i, got, w, factor/2)
			}
		}
	}
}

// A model from a bundle generates by its entry point, and gives what the cache gives.
func TestGeneratorOfABundle(t *testing.T) {
	e := device(t)
	m, _ := tinyModel(t, e, tinyModels["gpt2"], "", 2)
	bundle, err := m.SaveBundle()
	if err != nil {
		t.Fatal(err)
	}
	again, err := FromBundle(e, bundle)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Free()
	var texts [2][2][]int32
	for i, m := range []*Instance{m, again} {
		g, err := m.NewGenerator(0)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Free()
		if err := g.Feed([][]int32{{1, 2, 3}, {4}}); err != nil {
			t.Fatal(err)
		}
		for range 45 { // more than there is room for
			out := make([]int32, 2)
			if err := g.Next(out); err != nil {
				t.Fatal(err)
			}
			for row := range out {
				texts[i][row] = append(texts[i][row], out[row])
			}
		}
	}
	for row := range texts[0] {
		if !slices.Equal(texts[0][row], texts[1][row]) {
			t.Errorf("row %d: the cache gives %v, the entry point %v", row, texts[0][row], texts[1][row])
		}
	}
	if _, err := again.NewGenerator(3); err == nil {
		t.Error("3 rows of an instance of 2 are accepted")
	}
}

func TestSampling(t *testing.T) {
	logits := []float32{1, 3, 2, 3, -1}
	counts := func(s Sampling) (n [5]int) {
		w := sampling{Sampling: s}
		w.restart(2)
		for range 4000 {
			i, err := w.draw(0, logits)
			if err != nil {
				t.Fatal(err)
			}
			n[i]++
		}
		return n
	}
	if n := counts(Sampling{TopP: 1}); n != [5]int{1: 4000} {
		t.Errorf("temperature 0 draws %v", n)
	}
	if n := counts(Sampling{Temperature: 1, TopK: 1, TopP: 1}); n[1]+n[3] != 4000 || n[1] < 1800 || n[3] < 1800 {
		t.Errorf("the two that are most likely: %v", n)
	}
	if n := counts(Sampling{Temperature: 1, TopK: 3, TopP: 1}); n[0] != 0 || n[4] != 0 || n[2] < 400 || n[2] > 800 {
		t.Errorf("the three that are most likely: %v, expected the third in 15.5 %%", n)
	}
	if n := counts(Sampling{Temperature: 1, TopP: 0.5}); n[1]+n[3] != 4000 || n[3] == 0 {
		t.Errorf("half of the probability: %v", n)
	}
	total := 0.0
	for _, v := range logits {
		total += math.Exp(float64(v) / 2)
	}
	for i, n := range counts(Sampling{Temperature: 2, TopP: 1, Seed: 5}) {
		if p := math.Exp(float64(logits[i])/2) / total; math.Abs(float64(n)/4000-p) > 0.03 {
			t.Errorf("token %d comes in %v of all draws, expected %v", i, float64(n)/4000, p)
		}
	}
	seeded := func(seed uint64) any { return counts(Sampling{Temperature: 1, TopP: 1, Seed: seed}) }
	if first, again := seeded(1), seeded(1); first != again || first == seeded(2) {
		t.Error("the seed does not decide what is drawn")
	}
	w := sampling{Sampling: Sampling{Temperature: 1, TopP: 1}}
	w.restart(1)
	for _, bad := range [][]float32{{1, float32(math.NaN())}, {float32(math.Inf(1)), 0}, {float32(math.Inf(-1))}} {
		if _, err := w.draw(0, bad); err == nil {
			t.Errorf("%v is accepted", bad)
		}
	}
}

func TestGeneratorRefuses(t *testing.T) {
	e := device(t)
	m, _ := tinyModel(t, e, tinyModels["llama"], "", 1)
	g, err := m.NewGenerator(0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Logits(); err == nil {
		t.Error("logits of nothing")
	}
	for _, bad := range [][][]int32{nil, {{}}, {{1}, {2}}, {{31}}, {{-1}}} {
		if err := g.Feed(bad); err == nil {
			t.Errorf("tokens %v are accepted", bad)
		}
	}
	for _, s := range []Sampling{{Temperature: -1, TopP: 1}, {Temperature: math.NaN(), TopP: 1}, {TopK: -1, TopP: 1}, {TopP: 0}, {TopP: 1.5}, {TopP: math.NaN()}} {
		if err := g.SetSampling(s); err == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
	if err := g.Feed([][]int32{{1}}); err != nil {
		t.Fatal(err)
	}
	if err := g.Next(nil); err == nil {
		t.Error("no room for the token")
	}
	if _, err := m.NewGenerator(-1); err == nil {
		t.Error("-1 rows are accepted")
	}
	// What Feed refuses leaves the token that was drawn where it is.
	drawn := make([]int32, 1)
	if err := g.Next(drawn); err != nil {
		t.Fatal(err)
	}
	if err := g.Feed([][]int32{{31}}); err == nil {
		t.Error("the token 31 is accepted")
	}
	logits, err := g.Logits()
	if err != nil {
		t.Fatal(err)
	}
	sameLogits(t, "after a refused Feed", logits, lastLogits(t, m, []int32{1, drawn[0]}), 1e-4)
	mlp, err := NewMLP(e, []byte(`{"layers":[2,3]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer mlp.Free()
	if _, err := mlp.NewGenerator(1); err == nil || !strings.Contains(err.Error(), "language model") {
		t.Errorf("a perceptron generates: %v", err)
	}
	m.Free()
	if err := g.Next(make([]int32, 1)); err == nil {
		t.Error("a freed instance generates")
	}
	g.Free()
	if err := g.Feed([][]int32{{1}}); err == nil {
		t.Error("a freed generator generates")
	}
}
